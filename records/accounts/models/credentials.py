"""Credentials stored as digests: subscription keys of users and provisioning tokens of directories."""

import uuid
from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from records.history.stamps import Step
from records.history.trail import now
from records.sites.text import LineField


class Credential(models.Model):
    """A secret that was shown once; only its digest, name, last four characters and dates are stored."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = LineField(blank=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=8, editable=False, help_text=_("The secret's last characters."))
    created = models.DateTimeField(default=now, editable=False)
    created_by = models.ForeignKey("accounts.User", models.PROTECT, null=True, editable=False, related_name="+")
    expires = models.DateTimeField(null=True, blank=True)
    last_used = models.DateTimeField(null=True, blank=True, editable=False)
    revoked = models.DateTimeField(null=True, blank=True, editable=False)

    HISTORY_STEPS: ClassVar[tuple[Step, ...]] = (Step("created_by", ""),)
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("digest", "last_used", "created", "created_by")

    class Meta:
        abstract = True
        ordering = ("-created", "id")

    def __str__(self) -> str:
        return self.name

    def check_row(self) -> None:
        """Check a credential that is being issued. One that is being ended is not checked: ending it must not fail."""
        if self._state.adding:
            self.full_clean(validate_unique=False)

    @property
    def is_live(self) -> bool:
        """Return whether the credential is still valid."""
        return self.revoked is None and (self.expires is None or self.expires > now())

    @property
    def state(self) -> str:
        """Return "live", "expired" or "revoked". One that was recorded as ended at its expiry date is "expired"."""
        if self.is_live:
            return "live"
        has_expired = self.expires is not None and (self.revoked is None or self.revoked >= self.expires)
        return "expired" if has_expired else "revoked"


class SubscriptionKey(Credential):
    """A user's key for the six endpoints of one site; a user can have two live keys per site, for rotation."""

    user = models.ForeignKey("accounts.User", models.PROTECT, related_name="subscription_keys")
    site = models.ForeignKey("sites.Site", models.PROTECT, related_name="+")


class CalendarLink(Credential):
    """The secret part of the address at which a person's calendar program fetches what the person has to do."""

    user = models.ForeignKey("accounts.User", models.PROTECT, related_name="calendar_links")

    class Meta(Credential.Meta):
        default_permissions = ()

    @property
    def history_site_id(self) -> uuid.UUID | None:
        """Return the site whose history contains the link's changes: the person's home site."""
        return self.user.home_site_id


class Dialect(models.TextChoices):
    """The kind of directory that uses a token, since their requests differ (DECISIONS 7.7, 7.8)."""

    DOCUMENTED = "documented", _("Documented")
    RFC = "rfc7643", "RFC 7643"
    ENTRA = "entra", "Microsoft Entra ID"
    OKTA = "okta", "Okta"


class ProvisioningToken(Credential):
    """A bearer token of a directory; it gives access to provisioning and nothing else."""

    directory = models.ForeignKey("accounts.Directory", models.PROTECT, related_name="tokens")
    dialect = models.CharField(max_length=20, choices=Dialect.choices, default=Dialect.DOCUMENTED)
    read_only = models.BooleanField(default=False, db_default=False, help_text=_("It can only read."))
    dry_run = models.BooleanField(
        default=False,
        db_default=False,
        help_text=_("Its writes are checked and answered as usual, but nothing is stored."),
    )
    addresses = models.JSONField(
        "address ranges",
        default=list,
        db_default=[],
        blank=True,
        help_text=_("The networks from which it is accepted. Leave empty to accept it from any address."),
    )
    end_announced = models.DateTimeField(null=True, blank=True, editable=False)

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = (*Credential.HISTORY_EXCLUDE, "end_announced")

    @property
    def history_site_id(self) -> uuid.UUID:
        """Return the site whose history contains the token's changes."""
        return self.directory.home_site_id
