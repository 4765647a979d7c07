"""Cloud directories that provision users and roles."""

import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from records.history.trail import now
from records.sites.text import LineField

if TYPE_CHECKING:
    from records.sites.models import Site


class Directory(models.Model):
    """A cloud directory (Microsoft Entra ID, Okta) that manages users and roles of some sites (DECISIONS 2.4)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = LineField(blank=False, unique=True)
    home_site = models.ForeignKey(
        "sites.Site", models.PROTECT, related_name="+", help_text=_("The site to which its new employees belong.")
    )
    sites = models.ManyToManyField(
        "sites.Site",
        related_name="+",
        help_text=_("Sites whose roles it may see; only a superuser gives it more than one."),
    )
    service_account = models.ForeignKey(
        "accounts.User",
        models.PROTECT,
        related_name="+",
        help_text=_("The account to which its changes are attributed."),
    )
    may_administer = models.BooleanField(
        "may change Site Administrator", default=False, help_text=_("Only a superuser allows this.")
    )
    matches_by_code = models.BooleanField(
        "match existing employees by code",
        default=False,
        help_text=_("Take over an employee without account whose code equals the employee number or external id."),
    )
    may_set_passwords = models.BooleanField(
        default=False,
        db_default=False,
        help_text=_("On: the passwords that it sends are set for accounts that it made. Off: they are ignored."),
    )
    sends_invitations = models.BooleanField(
        "mail an invitation to new users", default=False, help_text=_("The invitation lets them choose a password.")
    )
    stopped = models.DateTimeField(
        "mass removal stopped",
        null=True,
        blank=True,
        editable=False,
        help_text=_("When the limit on mass removal stopped it."),
    )
    confirmed = models.DateTimeField(
        "mass removal confirmed",
        null=True,
        blank=True,
        editable=False,
        help_text=_("Removals before this time are not counted."),
    )
    is_archived = models.BooleanField("archived", default=False)
    created = models.DateTimeField(default=now, editable=False)
    last_modified = models.DateTimeField(default=now, editable=False)

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("created", "last_modified")

    class Meta:
        ordering = ("name", "id")
        verbose_name_plural = "directories"

    def __str__(self) -> str:
        return self.name

    @property
    def history_site_id(self) -> uuid.UUID:
        """Return the site whose history contains the directory's changes."""
        return self.home_site_id

    @property
    def seen_sites(self) -> Iterable["Site"]:
        """Return the sites whose roles it may see; for the directory of a token they are loaded already."""
        sites: Iterable[Site] | None = vars(self).get("_seen_sites")
        return self.sites.all() if sites is None else sites

    @seen_sites.setter
    def seen_sites(self, sites: Iterable["Site"]) -> None:
        vars(self)["_seen_sites"] = sites


class DirectoryRemoval(models.Model):
    """One person whom a directory switched off, deleted or removed from roles; for the brake (DECISIONS 9.6)."""

    id = models.BigAutoField(primary_key=True)
    directory = models.ForeignKey(Directory, models.CASCADE, related_name="+", db_index=False)
    user_id = models.UUIDField()
    at = models.DateTimeField(default=now)

    class Meta:
        default_permissions = ()
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=("directory", "at"), name="removal_of_directory")]

    def __str__(self) -> str:
        return f"{self.user_id}, {self.at:%Y-%m-%d %H:%M}"


class ExternalId(models.Model):
    """The identifier that a directory gave to a user; an empty one identifies nobody and is not stored."""

    id = models.BigAutoField(primary_key=True)
    directory = models.ForeignKey(Directory, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey("accounts.User", models.CASCADE, related_name="external_ids")
    value = LineField(blank=False)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("directory", "value"), name="external_id_once_per_directory"),
            models.UniqueConstraint(fields=("directory", "user"), name="one_external_id_per_user_and_directory"),
            models.CheckConstraint(condition=~Q(value=""), name="external_id_not_empty"),
        )

    def __str__(self) -> str:
        return self.value
