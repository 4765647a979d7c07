"""What a directory does to accounts: make, change, end and remove them (DECISIONS 7)."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import F

from records.accounts.actions import editing, end_credentials
from records.accounts.employee_facts import Key, replace_keys
from records.accounts.models import DefaultRole, Directory, ExternalId, RoleMembership, User, UserEmail
from records.accounts.roles_held import holds_default_role
from records.history.snapshots import FieldChange, differences, snapshot
from records.history.trail import Author, now, recording
from records.sites.text import fold


class NotAllowedError(Exception):
    """Raised when a directory asks for what it may not do; the text says why."""


@dataclass(frozen=True, slots=True)
class EmailWish:
    """One e-mail address that the account is to have."""

    value: str
    type: str = ""
    display: str = ""
    primary: bool = False


@dataclass(slots=True)
class AccountWish:
    """The whole state that an account is to have; `attributes` is what no column holds, `keys` the same for filters."""

    user_name: str
    given_name: str = ""
    family_name: str = ""
    honorific_prefix: str = ""
    display_name: str = ""
    user_type: str = ""
    preferred_language: str = ""
    locale: str = ""
    active: bool = True
    external_id: str = ""
    password: str | None = None
    emails: Sequence[EmailWish] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    keys: tuple[Key, ...] = ()

    @property
    def email(self) -> str:
        """Return the primary address, else the first of all, '' without any."""
        first = self.emails[0].value if self.emails else ""
        return next((email.value for email in self.emails if email.primary), first)


_COLUMNS = (
    "user_name",
    "given_name",
    "family_name",
    "honorific_prefix",
    "display_name",
    "user_type",
    "preferred_language",
    "locale",
    "email",
)


def add_account(key: uuid.UUID, wish: AccountWish, directory: Directory, *, author: Author) -> User:
    """Make the account of a person whom the directory adds; raises ValidationError (Duplicate: a name in use)."""
    _refuse_used_name(wish.user_name, None)
    with recording() as trail:
        user = User(
            id=key,
            home_site_id=directory.home_site_id,
            directory=directory,
            is_active=wish.active,
            directory_attributes=wish.attributes,
            user_name_key=fold(wish.user_name),
            **{name: getattr(wish, name) for name in _COLUMNS},
        )
        user.set_password(wish.password)
        user.clean_fields(exclude=["password", "home_site", "directory"])
        user.save(force_insert=True)
        _replace_emails(user, wish.emails)
        replace_keys(user, None, wish.keys)
        set_external_id(user, directory, wish.external_id)
        changed = differences(user, {}, snapshot(user))
        if wish.external_id:
            changed.append({"field": "external_id", "old": "", "new": wish.external_id})
        trail.add(user, changed, author=author, operation="AddUser", site_id=user.home_site_id)
    return user


def change_account(user: User, wish: AccountWish, directory: Directory, *, author: Author, operation: str) -> bool:
    """Bring a locked account to the wished state and return whether anything changed.

    Takes the account over when no directory owns it. Ends sessions and credentials when it becomes inactive. Raises
    ValidationError, or NotAllowedError for an account that is not this directory's to change.
    """
    refuse_foreign(user, directory)
    if fold(wish.user_name) != user.user_name_key:
        _refuse_used_name(wish.user_name, user.pk)
    revision = user.revision
    ends = user.is_active and not wish.active
    with recording() as trail:
        with editing(user, author=author, operation=operation, site_id=user.home_site_id) as locked:
            for name in _COLUMNS:
                setattr(locked, name, getattr(wish, name))
            locked.is_active = wish.active
            locked.directory = directory
            if locked.directory_attributes != wish.attributes:
                locked.directory_attributes = wish.attributes
                replace_keys(locked, None, wish.keys)
            _replace_emails(locked, wish.emails)
            if wish.password:
                locked.set_password(wish.password)
        touched = locked.revision != revision
        extra: list[FieldChange] = []
        before = set_external_id(user, directory, wish.external_id)
        if before != wish.external_id:
            extra.append({"field": "external_id", "old": before, "new": wish.external_id})
        if wish.password:
            extra.append({"field": "password", "old": None, "new": "set"})
            User.objects.filter(pk=user.pk).update(password=locked.password)
        if extra:
            trail.add(locked, extra, author=author, operation=operation, site_id=user.home_site_id)
            if not touched:
                touch(user.pk)
            touched = True
        if ends:
            end_credentials(user, author=author)
    return touched


def remove_account(user: User, directory: Directory, *, author: Author, operation: str = "RemoveUser") -> None:
    """End a locked account for good: no access, no roles, its name and external id free again (DECISIONS 7.9)."""
    refuse_foreign(user, directory)
    with recording() as trail:
        with editing(user, author=author, operation=operation, site_id=user.home_site_id) as locked:
            locked.is_active = False
            locked.directory = directory
            locked.removed = now()
        end_credentials(user, author=author)
        ExternalId.objects.filter(user=user).delete()
        for membership in RoleMembership.objects.filter(user=user).select_related("role").order_by("role_id"):
            entry = {"id": str(user.pk), "name": user.printed_name}
            trail.add(
                membership.role,
                [{"field": "members", "old": [entry], "new": []}],
                author=author,
                operation=operation,
                site_id=membership.role.site_id,
            )
            type(membership.role)._default_manager.filter(pk=membership.role_id).update(
                revision=F("revision") + 1, last_modified=now()
            )
        RoleMembership.objects.filter(user=user).delete()


def refuse_foreign(user: User, directory: Directory) -> None:
    """Raise NotAllowedError unless the account is the directory's own, or nobody's and no administrator's."""
    if user.is_superuser:
        raise NotAllowedError("This account is a superuser's; no directory may change it.")
    if user.directory_id == directory.pk:
        return
    if user.directory_id is not None:
        raise NotAllowedError("This account belongs to another directory.")
    if not directory.may_administer and holds_default_role(user.pk, DefaultRole.SITE_ADMINISTRATOR):
        raise NotAllowedError("This account is a Site Administrator's, and the directory may not administer.")


def touch(user_id: uuid.UUID) -> None:
    """Move an account's revision and stamp on after a change that its own row does not hold."""
    User.objects.filter(pk=user_id).update(revision=F("revision") + 1, last_modified=now())


def _refuse_used_name(user_name: str, own: uuid.UUID | None) -> None:
    others = User.objects.filter(user_name_key=fold(user_name))
    if (others.exclude(pk=own) if own else others).exists():
        raise ValidationError({"user_name": ValidationError("This user name is in use already.", code="Duplicate")})


def set_external_id(user: User, directory: Directory, value: str) -> str:
    """Keep what the directory calls the user and return what it called it before; an empty value identifies nobody.

    Raises ValidationError, code Duplicate, when another user of the directory is called so.
    """
    stored = ExternalId.objects.filter(directory=directory, user=user).first()
    before = stored.value if stored else ""
    if value == before:
        return before
    if value and ExternalId.objects.filter(directory=directory, value=value).exclude(user=user).exists():
        fault = ValidationError("Another user of the directory has this identifier.", code="Duplicate")
        raise ValidationError({"external_id": fault})
    if not value and stored:
        stored.delete()
    elif value:
        row = stored or ExternalId(directory=directory, user=user)
        row.value = value
        row.clean_fields(exclude=["directory", "user"])
        row.save()
    return before


def _replace_emails(user: User, wished: Iterable[EmailWish]) -> None:
    """Make the wished addresses the account's, in their order; rows that stay keep their id."""
    wanted = list(wished)
    stored = list(UserEmail.objects.filter(user=user).order_by("idx", "pk"))
    faults = []
    for idx, wish in enumerate(wanted):
        row = stored[idx] if idx < len(stored) else UserEmail(user=user)
        before = (row.value, row.type, row.display, row.primary, row.idx)
        row.value, row.type, row.display, row.primary, row.idx = wish.value, wish.type, wish.display, wish.primary, idx
        if not row._state.adding and before == (row.value, row.type, row.display, row.primary, row.idx):
            continue
        row.value_key = fold(row.value)
        try:
            validate_email(row.value)
            row.clean_fields(exclude=["user"])
        except ValidationError as fault:
            faults += fault.messages
            continue
        row.save()
    if faults:
        raise ValidationError({"emails": [ValidationError(text, code="InvalidValue") for text in faults]})
    if len(stored) > len(wanted):
        UserEmail.objects.filter(pk__in=[row.pk for row in stored[len(wanted) :]]).delete()
