"""The security log: what happened to accounts and credentials, in a form that can be searched."""

from typing import ClassVar

from django.db import models

from records.history.trail import now


class SecurityKind(models.TextChoices):
    """What can happen to an account or a credential (DECISIONS 9.9)."""

    SIGNED_IN = "SignIn", "Signed in"
    SIGN_IN_FAILED = "SignInFailed", "Sign-in failed"
    SIGNED_OUT = "SignOut", "Signed out"
    LOCKED_OUT = "LockOut", "Locked after wrong passwords"
    SESSIONS_ENDED = "EndSessions", "Sessions ended"
    PASSWORD_SET = "SetPassword", "Password set"
    FACTOR_ADDED = "AddFactor", "Second factor added"
    FACTOR_REMOVED = "RemoveFactor", "Second factor removed"
    PROVIDER_LINKED = "LinkProvider", "Linked to the identity provider"
    PROVIDER_UNLINKED = "UnlinkProvider", "Link to the identity provider removed"
    ADDRESS_ASKED = "AskRecoveryAddress", "New recovery address to be confirmed"
    ADDRESS_CHANGED = "SetRecoveryAddress", "Recovery address changed"
    NAME_CHANGED = "SetUserName", "User name changed"
    ACCESS_ENDED = "EndAccess", "Access ended"
    ACCESS_GIVEN = "GiveAccess", "Access given again"
    ROLE_GIVEN = "GiveRole", "Role given"
    ROLE_TAKEN = "TakeRole", "Role taken away"
    ROLE_CHANGED = "ChangeRole", "Permissions of a role changed"
    KEY_ISSUED = "IssueKey", "Key made"
    KEY_FIRST_USED = "UseKey", "Key first used"
    KEY_ENDED = "EndKey", "Key ended"
    CLIENT_ISSUED = "IssueClient", "OAuth client made"
    CLIENT_FIRST_USED = "UseClient", "OAuth client first used"
    CLIENT_ENDED = "EndClient", "OAuth client ended"
    TOKEN_ISSUED = "IssueToken", "Provisioning token made"
    TOKEN_FIRST_USED = "UseToken", "Provisioning token first used"
    TOKEN_ENDED = "EndToken", "Provisioning token ended"
    DIRECTORY_STOPPED = "StopDirectory", "Mass removal stopped"
    DIRECTORY_CONFIRMED = "ConfirmDirectory", "Mass removal confirmed"
    REFUSED = "Refuse", "Refused"


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
        return SecurityKind(self.kind).label if self.kind in SecurityKind else self.kind
