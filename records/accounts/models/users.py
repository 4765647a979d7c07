"""Accounts of people and of integrations."""

import uuid
from collections.abc import Sequence
from typing import ClassVar, Self

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts.models.scopes import DirectoryScope, users_seen_by
from records.accounts.names import LONGEST_LOOK, look_of
from records.history.trail import now
from records.sites.text import EMAIL, LineField, fold


class UserRows(models.QuerySet["User"]):
    """Queries about accounts."""

    def seen_by(self, scope: DirectoryScope) -> Self:
        """Return the accounts that the token of a directory sees."""
        return self.filter(users_seen_by(scope))


class UserManager(BaseUserManager.from_queryset(UserRows)):  # type: ignore[misc]
    """Makes accounts; user names are compared by their folded key."""

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the account with that name in any case; raises DoesNotExist."""
        return self.get(user_name_key=fold(username or ""))

    def create_user(self, user_name: str, password: str | None = None, **fields: object) -> "User":
        """Make an account, with an unusable password if none is given."""
        fields.setdefault("recovery_address", fields.get("email", ""))
        keys = {"user_name_key": fold(user_name), "user_name_look": look_of(user_name)}
        user = self.model(user_name=user_name, **keys, **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, user_name: str, password: str | None = None, **fields: object) -> "User":
        """Make an account that may do everything at every site."""
        return self.create_user(user_name, password, is_superuser=True, **fields)


def printed_name(display_name: str, given_name: str, family_name: str, user_name: str) -> str:
    """Return an account's display name; if empty, its given and family name; if those are empty, its user name."""
    return display_name or f"{given_name} {family_name}".strip() or user_name


class User(AbstractBaseUser):
    """One account: a person (the Employee then has the same Id) or a service account of an integration.

    `user_name_key` is the folded name and unique in the installation; if a directory deletes an account, its key
    becomes null and the account is never used again. Names that look alike in different scripts share a
    `user_name_look`. `email` is copied from the employee's record; `recovery_address` gives access to the account, and
    only `records.accounts.recovery` changes it (DECISIONS 9.3). `made_by_directory` distinguishes an account that its
    directory made from one that it adopted.
    """

    SEARCHED: ClassVar[tuple[str, ...]] = ("user_name", "given_name", "family_name", "display_name", "email")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user_name = LineField("user name", blank=False)
    user_name_key = models.CharField(max_length=765, unique=True, null=True, editable=False)  # noqa: DJ001
    user_name_look = models.CharField(max_length=LONGEST_LOOK, null=True, editable=False)  # noqa: DJ001
    given_name = LineField("first name")
    family_name = LineField("last name")
    display_name = LineField()
    email = models.EmailField(
        "e-mail address", max_length=EMAIL, blank=True, help_text=_("Notices about records are sent to it.")
    )
    recovery_address = models.EmailField(
        "recovery address",
        max_length=EMAIL,
        blank=True,
        default="",
        db_default="",
        help_text=_("Invitations, links for a new password and security notices are sent only to this address."),
    )
    pending_address = models.EmailField(
        "recovery address to be confirmed", max_length=EMAIL, blank=True, default="", db_default="", editable=False
    )
    is_active = models.BooleanField("active", default=True)
    is_superuser = models.BooleanField(
        "superuser", default=False, help_text=_("May do everything at every site, without any role.")
    )
    is_service_account = models.BooleanField(
        "service account", default=False, help_text=_("For an integration, not a person; it cannot sign in.")
    )
    home_site = models.ForeignKey("sites.Site", models.PROTECT, null=True, blank=True, related_name="+")
    directory = models.ForeignKey(
        "accounts.Directory", models.PROTECT, null=True, blank=True, related_name="users", editable=False
    )
    made_by_directory = models.BooleanField(default=False, db_default=False, editable=False)
    removed = models.DateTimeField("removed by its directory", null=True, blank=True, editable=False)
    # Null until the person chooses one: then pages follow the browser.
    language = models.CharField("language", max_length=10, null=True, blank=True, editable=False)  # noqa: DJ001
    user_type = LineField()
    preferred_language = LineField()
    locale = LineField()
    honorific_prefix = LineField()
    directory_attributes = models.JSONField(default=dict, blank=True, editable=False)
    session_epoch = models.PositiveIntegerField(default=0, editable=False)
    revision = models.PositiveIntegerField(default=1, editable=False)
    created = models.DateTimeField(default=now, editable=False)
    last_modified = models.DateTimeField(default=now, editable=False)

    objects = UserManager()

    USERNAME_FIELD = "user_name"
    EMAIL_FIELD = "recovery_address"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = (
        "password",
        "last_login",
        "user_name_key",
        "user_name_look",
        "session_epoch",
        "revision",
        "created",
        "last_modified",
    )
    HISTORY_CHILDREN: ClassVar[tuple[str, ...]] = ("emails",)

    class Meta:
        ordering = ("user_name", "id")
        indexes = (
            models.Index(fields=("directory", "id"), name="user_of_directory"),
            # For the users that a directory sees, in the order of its pages.
            models.Index(
                fields=("home_site", "id"),
                condition=Q(removed__isnull=True, is_service_account=False),
                name="user_present_at_site",
            ),
            models.Index(fields=("last_modified", "id"), name="user_by_last_modified"),
            models.Index(fields=("user_name_look",), name="user_by_look"),
        )

    def __str__(self) -> str:
        return self.printed_name

    def unique_error_message(self, model_class: type[models.Model], unique_check: Sequence[str]) -> ValidationError:
        """Report a name in use as a fault of the user name, since nobody sees the key."""
        if tuple(unique_check) == ("user_name_key",):
            return ValidationError(gettext("Another account has this user name."), code="Duplicate")
        return super().unique_error_message(model_class, unique_check)

    @property
    def history_site_id(self) -> uuid.UUID | None:
        """Return the site whose history contains the account's changes."""
        return self.home_site_id

    def prepare(self) -> None:
        """Set the columns that are derived from the user name; the name of a removed account can be used again."""
        self.user_name_key = None if self.removed else fold(self.user_name)
        self.user_name_look = None if self.removed else look_of(self.user_name)

    def is_seen_by(self, scope: DirectoryScope) -> bool:
        """Return whether the token of a directory sees this account of an employee."""
        return self.home_site_id in scope.site_ids and self.removed is None and not self.is_service_account

    @property
    def printed_name(self) -> str:
        """Return the name to print beside a signature or change."""
        return printed_name(self.display_name, self.given_name, self.family_name, self.user_name)

    @property
    def is_staff(self) -> bool:
        """Return whether the account may sign in to the back-office."""
        return self.is_active and self.removed is None and not self.is_service_account

    def get_short_name(self) -> str:
        """Return the given name; if empty, the printed name."""
        return self.given_name or self.printed_name

    def _get_session_auth_hash(self, secret: str | bytes | None = None) -> str:
        """Return the hash that sessions contain, of password and epoch, so that a new epoch ends all sessions."""
        return salted_hmac(
            "larder.session", f"{self.password}:{self.session_epoch}", secret=secret, algorithm="sha256"
        ).hexdigest()

    def has_perm(self, perm: str, obj: models.Model | None = None) -> bool:
        """Return whether the account holds the permission at the object's site; without an object, at any site."""
        from records.accounts import access

        site_id = getattr(obj, "site_id", None)
        return access.may(self, site_id, perm) if site_id else access.may_anywhere(self, perm)

    def has_module_perms(self, app_label: str) -> bool:
        """Return whether the account holds any permission of the app at any site."""
        from records.accounts import access

        return access.may_see_app(self, app_label)


class UserEmail(models.Model):
    """One e-mail address of an account, with the type and the primary flag that its directory sent."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="emails", db_index=False)
    value = LineField(blank=False)
    value_key = models.CharField(max_length=765, editable=False)
    type = LineField()
    display = LineField()
    primary = models.BooleanField(default=False)
    idx = models.PositiveIntegerField("position", default=0)

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("user", "value_key")

    class Meta:
        ordering = ("idx", "id")
        verbose_name = "e-mail address"
        verbose_name_plural = "e-mail addresses"
        indexes = (
            models.Index(fields=("user", "idx"), name="email_of_user"),
            models.Index(fields=("value_key",), name="email_by_value"),
        )

    def __str__(self) -> str:
        return self.value
