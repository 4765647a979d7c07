"""The security log: what happened to accounts and credentials, in a form that can be searched."""

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from records.history.trail import now


class SecurityKind(models.TextChoices):
    """What can happen to an account or a credential (DECISIONS 9.9)."""

    SIGNED_IN = "SignIn", _("Signed in")
    SIGN_IN_FAILED = "SignInFailed", _("Sign-in failed")
    SIGNED_OUT = "SignOut", _("Signed out")
    LOCKED_OUT = "LockOut", _("Locked after wrong passwords")
    SESSIONS_ENDED = "EndSessions", _("Sessions ended")
    PASSWORD_SET = "SetPassword", _("Password set")
    FACTOR_ADDED = "AddFactor", _("Second factor added")
    FACTOR_REMOVED = "RemoveFactor", _("Second factor removed")
    PROVIDER_LINKED = "LinkProvider", _("Linked to the identity provider")
    PROVIDER_UNLINKED = "UnlinkProvider", _("Link to the identity provider removed")
    ADDRESS_ASKED = "AskRecoveryAddress", _("New recovery address to be confirmed")
    ADDRESS_CHANGED = "SetRecoveryAddress", _("Recovery address changed")
    NAME_CHANGED = "SetUserName", _("User name changed")
    ACCESS_ENDED = "EndAccess", _("Access ended")
    ACCESS_GIVEN = "GiveAccess", _("Access given again")
    ROLE_GIVEN = "GiveRole", _("Role given")
    ROLE_TAKEN = "TakeRole", _("Role taken away")
    ROLE_CHANGED = "ChangeRole", _("Permissions of a role changed")
    KEY_ISSUED = "IssueKey", _("Key made")
    KEY_FIRST_USED = "UseKey", _("Key first used")
    KEY_ENDED = "EndKey", _("Key ended")
    CLIENT_ISSUED = "IssueClient", _("OAuth client made")
    CLIENT_FIRST_USED = "UseClient", _("OAuth client first used")
    CLIENT_ENDED = "EndClient", _("OAuth client ended")
    TOKEN_ISSUED = "IssueToken", _("Provisioning token made")
    TOKEN_FIRST_USED = "UseToken", _("Provisioning token first used")
    TOKEN_ENDED = "EndToken", _("Provisioning token ended")
    DIRECTORY_STOPPED = "StopDirectory", _("Mass removal stopped")
    DIRECTORY_CONFIRMED = "ConfirmDirectory", _("Mass removal confirmed")
    REFUSED = "Refuse", _("Refused")


class SecurityEvent(models.Model):
    """One event: when, what, which account, from which address, by whom and through which channel.

    The history contains the same event as a Change, which proves it; the page of the security log searches these rows.
    Accounts are stored as ids with the names that they had at that time, since the log outlives them. Only
    `records.accounts.security` writes rows, and they are never changed.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField("when", default=now)
    kind = models.CharField("what", max_length=20)
    account_id = models.UUIDField(null=True, blank=True)
    account_name = models.CharField("account", max_length=255, blank=True)
    address = models.CharField("from address", max_length=45, blank=True)
    author_id = models.UUIDField(null=True, blank=True)
    author_name = models.CharField("by", max_length=255, blank=True)
    channel = models.CharField(max_length=20, blank=True)
    detail = models.CharField(max_length=500, blank=True)
    site = models.ForeignKey("sites.Site", models.PROTECT, null=True, blank=True, related_name="+", db_index=False)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("-at", "-id")
        default_permissions = ("view",)
        verbose_name = "security event"
        verbose_name_plural = "security log"
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=("-at", "-id"), name="security_by_time"),
            models.Index(fields=("account_id", "-at"), name="security_of_account"),
            models.Index(fields=("address", "-at"), name="security_from_address"),
            models.Index(fields=("kind", "-at"), name="security_of_kind"),
            models.Index(fields=("site", "-at"), name="security_of_site"),
        ]

    def __str__(self) -> str:
        return f"{self.what}: {self.account_name}".rstrip(": ")

    @property
    def what(self) -> str:
        """Return the label of the kind."""
        return str(SecurityKind(self.kind).label) if self.kind in SecurityKind else self.kind
