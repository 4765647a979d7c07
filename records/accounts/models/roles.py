"""Roles of a site and their members."""

import uuid
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts.models.scopes import DirectoryScope, roles_seen_by, users_seen_by
from records.history.models import Change
from records.history.trail import now
from records.sites.models import SiteRows
from records.sites.text import LineField, fold


class DefaultRole(models.TextChoices):
    """The roles that every site has, lowest first."""

    READER = "reader", _("Reader")
    STANDARD = "standard", _("Standard")
    MANAGER = "manager", _("Manager")
    SITE_ADMINISTRATOR = "site_administrator", _("Site Administrator")


class RoleRows(SiteRows["Role"]):
    """Queries about roles."""

    def seen_by(self, scope: DirectoryScope) -> Self:
        """Return the roles that the token of a directory sees."""
        return self.filter(roles_seen_by(scope))


class Role(models.Model):
    """A set of permissions at one site, held by its members; a directory sees it as a Group."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey("sites.Site", models.PROTECT, related_name="roles")
    name = LineField()
    name_key = models.CharField(max_length=765, blank=True, editable=False)
    default_role = models.CharField(max_length=20, choices=DefaultRole.choices, blank=True, editable=False)
    permissions = models.ManyToManyField("auth.Permission", blank=True, related_name="+")
    directory = models.ForeignKey(
        "accounts.Directory", models.PROTECT, null=True, blank=True, editable=False, related_name="roles"
    )
    made_by_directory = models.BooleanField(default=False, editable=False)
    external_id = LineField(editable=False)
    hidden_from_directory = models.BooleanField(default=False, editable=False)
    is_archived = models.BooleanField("archived", default=False, editable=False)
    revision = models.PositiveIntegerField(default=1, editable=False)
    created = models.DateTimeField(default=now, editable=False)
    last_modified = models.DateTimeField(default=now, editable=False)

    objects = RoleRows.as_manager()

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("site", "name_key", "revision", "created", "last_modified")
    HISTORY_NOTES_MEMBERS = ("members", "memberships", ("user", "member_role"))
    """The name under which its changes note its members, their relation, and the columns with their ids."""

    class Meta:
        ordering = ("site", "name", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("site", "name_key"),
                condition=Q(is_archived=False) & ~Q(name_key=""),
                name="role_name_once_per_site",
                violation_error_message=_("The site already has a role with this name."),
                violation_error_code="Duplicate",
            ),
            models.UniqueConstraint(
                fields=("site", "default_role"), condition=~Q(default_role=""), name="default_role_once_per_site"
            ),
        )

    def __str__(self) -> str:
        return self.name

    @classmethod
    def contradicting(cls) -> dict[str, models.QuerySet[Any]]:
        """Return the roles that have members although no change says so."""
        members = RoleMembership.objects.filter(role=OuterRef("pk"))
        changes = Change.objects.filter(record_id=OuterRef("pk"), model=cls._meta.label)
        return {"members": cls._base_manager.filter(Exists(members), ~Exists(changes))}

    def prepare(self) -> None:
        """Set the columns that are derived from the name."""
        self.name_key = fold(self.name)

    def is_seen_by(self, scope: DirectoryScope) -> bool:
        """Return whether the token of a directory sees this role."""
        is_hidden = self.directory_id == scope.directory_id and self.hidden_from_directory
        return self.site_id in scope.site_ids and not self.is_archived and not is_hidden


class MembershipRows(models.QuerySet["RoleMembership"]):
    """Queries about memberships."""

    def seen_by(self, scope: DirectoryScope) -> Self:
        """Return the memberships whose member the token of a directory sees."""
        return self.filter(users_seen_by(scope, "user__") | roles_seen_by(scope, "member_role__"))


class RoleMembership(models.Model):
    """One member of a role: a user, or another role whose members then hold this role too."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    role = models.ForeignKey(Role, models.CASCADE, related_name="memberships", db_index=False)
    user = models.ForeignKey(
        "accounts.User", models.CASCADE, null=True, blank=True, related_name="memberships", db_index=False
    )
    member_role = models.ForeignKey(
        Role, models.CASCADE, null=True, blank=True, related_name="held_roles", db_index=False
    )
    display = LineField(editable=False)
    directory = models.ForeignKey(
        "accounts.Directory", models.PROTECT, null=True, blank=True, editable=False, related_name="+"
    )
    created = models.DateTimeField(default=now, editable=False)

    objects = MembershipRows.as_manager()

    class Meta:
        ordering = ("role", "created", "id")
        constraints = (
            models.UniqueConstraint(fields=("role", "user"), name="user_once_per_role"),
            models.UniqueConstraint(fields=("role", "member_role"), name="role_once_per_role"),
            models.CheckConstraint(
                condition=Q(user__isnull=False, member_role__isnull=True)
                | Q(user__isnull=True, member_role__isnull=False),
                name="member_is_user_or_role",
            ),
        )
        indexes = (
            models.Index(fields=("user", "role"), name="membership_of_user"),
            models.Index(fields=("member_role", "role"), name="membership_of_role"),
        )

    def __str__(self) -> str:
        return gettext("%(member)s in %(role)s") % {"member": self.user or self.member_role, "role": self.role}
