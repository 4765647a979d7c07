"""What a directory does to accounts: make, change, end and remove them (DECISIONS 7).

A directory sends thousands of calls in a row, and each carries an account with its addresses, identifiers and
attributes. Therefore these functions do not use the common writer of `records.sites.writing`: they check only the
columns that the call can set, and store the related rows without reading them again. They keep its rules: one
transaction, under a lock, with its Change.
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.hashers import check_password, is_password_usable, make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import F
from django.utils.translation import gettext

from records.accounts.actions import end_credentials
from records.accounts.authority import Act, Actor, NotAllowedError, refusal, require
from records.accounts.brake import count_removal
from records.accounts.employee_facts import Key, add_keys, replace_keys
from records.accounts.models import Directory, ExternalId, RoleMembership, SecurityKind, User, UserEmail
from records.accounts.names import check_address, check_user_name, look_of
from records.accounts.recovery import follow_fact
from records.accounts.security import security_event
from records.history.digests import FieldChange
from records.history.snapshots import differences, snapshot
from records.history.trail import Author, is_rehearsal, now, recording
from records.sites.text import fault_at, fold


class PasswordNotHashedError(Exception):
    """Raised for a password that may be set but is not hashed yet, which takes long and is not done under locks.

    The caller ends the transaction, asks for the hash, and writes again with `DesiredAccount.password_hash`.
    """

    def __init__(self, password: str, stored_hash: str) -> None:
        super().__init__("The password has to be hashed before the transaction begins.")
        self.password, self.stored_hash = password, stored_hash

    def hash(self) -> str:
        """Return a hash of the password: the stored one if the account has this password already."""
        stored_hash = self.stored_hash
        is_same = bool(stored_hash) and is_password_usable(stored_hash) and check_password(self.password, stored_hash)
        return stored_hash if is_same else make_password(self.password)


@dataclass(frozen=True, slots=True)
class DesiredEmail:
    """One e-mail address that the account is to have."""

    value: str
    type: str = ""
    display: str = ""
    primary: bool = False


@dataclass(slots=True)
class DesiredAccount:
    """The complete desired state of an account.

    `attributes` are values for which there is no column; `keys` are the same values in the form that filters compare.
    """

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
    password_hash: str | None = None
    """The hash of the password."""
    emails: Sequence[DesiredEmail] = ()
    present_email: str | None = None
    """The employee's present address, which stays if the directory's main one does: staff may have changed it."""
    attributes: dict[str, Any] = field(default_factory=dict)
    keys: tuple[Key, ...] = ()
    notes: list[str] = field(default_factory=list)
    """What was requested but not done, in plain words for the provisioning log."""

    @property
    def email(self) -> str:
        """Return the employee's address: the present one if it stays, or else the main one; '' without addresses."""
        return main_address(self.emails)[0] if self.present_email is None else self.present_email


def main_address(entries: Iterable[DesiredEmail | UserEmail]) -> tuple[str, bool]:
    """Return the primary address, or the first one if none is primary, and whether it is primary; '' without any."""
    addresses = [(entry.value, entry.primary) for entry in entries]
    return next((entry for entry in addresses if entry[1]), addresses[0] if addresses else ("", False))


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


_UNCHECKED_COLUMNS = ("password", "home_site", "directory")
"""Columns that are not checked: the request does not set them, or sets them to rows that are already loaded."""


def add_account(key: uuid.UUID, desired: DesiredAccount, directory: Directory, *, author: Author) -> User:
    """Make the account of a person whom the directory adds; raises ValidationError (Duplicate: the name is in use)."""
    check_user_name(desired.user_name)
    _check_password(desired, directory, None)
    password_hash = _password_hash(desired, "")
    with recording() as trail:
        user = User(
            id=key,
            password=password_hash,
            home_site=directory.home_site,
            directory=directory,
            made_by_directory=True,
            recovery_address=desired.email,
            is_active=desired.active,
            directory_attributes=desired.attributes,
            user_name_key=fold(desired.user_name),
            user_name_look=look_of(desired.user_name),
            **{name: getattr(desired, name) for name in _COLUMNS},
        )
        user.clean_fields(exclude=_UNCHECKED_COLUMNS)
        user.save(force_insert=True)
        _keep_emails(user, [])
        _replace_emails(user, desired.emails)
        add_keys(user, desired.keys)
        set_external_id(user, directory, desired.external_id, None)
        changes = differences(user, {}, snapshot(user))
        if desired.external_id:
            changes.append({"field": "external_id", "old": "", "new": desired.external_id})
        trail.add(user, changes, author=author, operation="AddUser", site_id=user.home_site_id)
    return user


def change_account(
    user: User,
    desired: DesiredAccount,
    directory: Directory,
    external: ExternalId | None,
    *,
    author: Author,
    operation: str,
) -> bool:
    """Bring a locked, freshly read account to the desired state and return whether anything changed.

    `external` is the identifier that the directory has used for it until now. Takes the account over if no directory
    owns it. Ends sessions and credentials if it becomes inactive. Raises ValidationError, or NotAllowedError for what
    this directory may not do. A request that switches the account off always does so, and `desired.notes` then lists
    what was left undone (DECISIONS 9.5, 13.9).
    """
    actor = Actor(directory=directory)
    require(actor, Act.ADOPT, user)
    if main_address(desired.emails) == main_address(user.emails.all()):
        desired.present_email = user.email
    _check_password(desired, directory, user)
    _leave_undone(user, desired, actor)
    before_name, was_active = user.user_name, user.is_active
    check_user_name(desired.user_name, user)
    ends = user.is_active and not desired.active
    password_hash = _password_hash(desired, user.password)
    with recording() as trail:
        before = snapshot(user)
        if desired.email != user.email:
            follow_fact(user, user.email, desired.email, author=author, actor=actor)
        for name in _COLUMNS:
            setattr(user, name, getattr(desired, name))
        user.user_name_key = fold(desired.user_name)
        user.user_name_look = look_of(desired.user_name)
        user.is_active = desired.active
        user.directory = directory
        if user.directory_attributes != desired.attributes:
            user.directory_attributes = desired.attributes
            replace_keys(user, None, desired.keys)
        _replace_emails(user, desired.emails)
        if desired.password:
            user.password = password_hash
        user.clean_fields(exclude=_UNCHECKED_COLUMNS)
        changes = differences(user, before, snapshot(user))
        extra: list[FieldChange] = []
        previous_id = set_external_id(user, directory, desired.external_id, external)
        if previous_id != desired.external_id:
            extra.append({"field": "external_id", "old": previous_id, "new": desired.external_id})
        if desired.password:
            extra.append({"field": "password", "old": None, "new": "set"})
        has_changed = bool(changes or extra)
        if has_changed:
            _save(user)
        trail.add(user, changes, author=author, operation=operation, site_id=user.home_site_id)
        trail.add(user, extra, author=author, operation=operation, site_id=user.home_site_id)
        if ends:
            end_credentials(user, author=author)
            count_removal(directory, user.pk, switches_off=True)
        _note_events(user, before_name, was_active=was_active, password=bool(desired.password), author=author)
    return has_changed


def _note_events(user: User, before_name: str, *, was_active: bool, password: bool, author: Author) -> None:
    events = (
        (SecurityKind.ACCESS_ENDED, was_active and not user.is_active, ""),
        (SecurityKind.ACCESS_GIVEN, user.is_active and not was_active, ""),
        (SecurityKind.NAME_CHANGED, user.user_name != before_name, f"before: {before_name}"),
        (SecurityKind.PASSWORD_SET, password, ""),
    )
    for kind, happens, detail in events:
        if happens:
            security_event(kind, account=user, author=author, detail=detail)


def _check_password(desired: DesiredAccount, directory: Directory, user: User | None) -> None:
    """Drop a password that is not to be set, with a note; raise ValidationError for one that is too weak.

    A request that switches the account off is not refused for its password, because access must end.
    """
    if not desired.password:
        return
    reasons = (
        (not directory.may_set_passwords, "this directory may not set passwords"),
        (user is not None and not user.made_by_directory, "this directory did not make the account"),
        (user is not None and user.is_active and not desired.active, "the account is switched off"),
    )
    if reason := next((reason for applies, reason in reasons if applies), ""):
        desired.password = None
        desired.notes.append(f"The password was ignored: {reason}.")
        return
    person = User(
        user_name=desired.user_name,
        given_name=desired.given_name,
        family_name=desired.family_name,
        email=desired.email,
        home_site_id=directory.home_site_id,
    )
    try:
        validate_password(desired.password, person)
    except ValidationError as fault:
        faults = [ValidationError(text, code="InvalidValue") for text in fault.messages]
        raise ValidationError({"password": faults}) from fault


def _password_hash(desired: DesiredAccount, stored_hash: str) -> str:
    """Return what the account stores as its password; raises PasswordNotHashedError. A dry run needs no hash.

    `stored_hash` is '' for a new account. A password that the account has already is taken out of the desired state, so
    that the account's sessions go on.
    """
    if desired.password is None or is_rehearsal():
        return make_password(None)
    if desired.password_hash is None:
        raise PasswordNotHashedError(desired.password, stored_hash)
    if desired.password_hash == stored_hash:
        desired.password = None
    return desired.password_hash


def _leave_undone(user: User, desired: DesiredAccount, actor: Actor) -> None:
    """Remove from the desired state what the directory may not do, if it switches the account off; otherwise raise."""
    requests = (
        (Act.RENAME, "user_name", user.user_name, desired.user_name != user.user_name),
        (Act.GIVE_ACCESS, "active", False, desired.active and not user.is_active),
        (Act.SET_PASSWORD, "password", None, bool(desired.password)),
    )
    for act, name, old_value, is_requested in requests:
        reason = refusal(actor, act, user) if is_requested else ""
        if reason and not (user.is_active and not desired.active):
            raise NotAllowedError(reason)
        if reason:
            setattr(desired, name, old_value)
            desired.notes.append(reason)


def remove_account(user: User, directory: Directory, *, author: Author) -> None:
    """End a locked account for good: no access, no roles; its name and external id become free (DECISIONS 7.9).

    Raises NotAllowedError for an account that holds more than the directory may give (the directory can still switch it
    off), and if the brake on mass removal refuses it.
    """
    require(Actor(directory=directory), Act.REMOVE, user)
    with recording() as trail:
        before = snapshot(user)
        user.is_active = False
        user.directory = directory
        user.removed = now()
        user.user_name_key = user.user_name_look = None
        changes = differences(user, before, snapshot(user))
        _save(user)
        trail.add(user, changes, author=author, operation="RemoveUser", site_id=user.home_site_id)
        end_credentials(user, author=author)
        security_event(SecurityKind.ACCESS_ENDED, account=user, author=author, detail="deleted by its directory")
        ExternalId.objects.filter(user=user).delete()
        for membership in RoleMembership.objects.filter(user=user).select_related("role").order_by("role_id"):
            entry = {"id": str(user.pk), "name": user.printed_name}
            trail.add(
                membership.role,
                [{"field": "members", "old": [entry], "new": []}],
                author=author,
                operation="RemoveUser",
                site_id=membership.role.site_id,
            )
            type(membership.role)._default_manager.filter(pk=membership.role_id).update(
                revision=F("revision") + 1, last_modified=now()
            )
        RoleMembership.objects.filter(user=user).delete()
        count_removal(directory, user.pk)


def touch(user: User) -> None:
    """Increment a locked account's revision and set its stamp after a change that is not in its own row."""
    user.revision, user.last_modified = user.revision + 1, now()
    user.save(update_fields=["revision", "last_modified"])


def _save(user: User) -> None:
    user.revision, user.last_modified = user.revision + 1, now()
    user.save(force_update=True)


def set_external_id(user: User, directory: Directory, value: str, stored_row: ExternalId | None) -> str:
    """Store the directory's identifier of the user and return the previous one; an empty value identifies nobody.

    `stored_row` is the row before the change. Raises ValidationError, code Duplicate, if another user of the directory
    has this identifier.
    """
    before = stored_row.value if stored_row else ""
    if value == before:
        return before
    if value and ExternalId.objects.filter(directory=directory, value=value).exclude(user=user).exists():
        raise fault_at("external_id", gettext("Another user of the directory has this identifier."), "Duplicate")
    if not value and stored_row:
        stored_row.delete()
    elif value:
        row = stored_row or ExternalId(directory=directory, user=user)
        row.value = value
        try:
            row.clean_fields(exclude=["directory", "user"])
        except ValidationError as fault:
            raise ValidationError({"external_id": fault.error_dict["value"]}) from fault
        row.save()
    return before


def inactive_user(directory: Directory, external_id: str) -> uuid.UUID | None:
    """Return the id of the directory's own inactive user with this identifier; an empty value identifies nobody."""
    if not external_id:
        return None
    rows = ExternalId.objects.filter(directory=directory, value=external_id, user__directory=directory)
    return rows.filter(user__is_active=False, user__removed__isnull=True).values_list("user_id", flat=True).first()


def _replace_emails(user: User, entries: Iterable[DesiredEmail]) -> None:
    """Give the account the desired addresses, in their order; rows that stay keep their ids."""
    desired_emails = list(entries)
    stored_rows = list(user.emails.all())
    rows: list[UserEmail] = []
    faults: list[str] = []
    for idx, desired in enumerate(desired_emails):
        row = stored_rows[idx] if idx < len(stored_rows) else UserEmail(user=user)
        before = (row.value, row.type, row.display, row.primary, row.idx)
        after = (desired.value, desired.type, desired.display, desired.primary, idx)
        row.value, row.type, row.display, row.primary, row.idx = after
        rows.append(row)
        if not row._state.adding and before == after:
            continue
        row.value_key = fold(row.value)
        try:
            validate_email(row.value)
            check_address(row.value, "emails")
            row.clean_fields(exclude=["user"])
        except ValidationError as fault:
            faults += fault.messages
            continue
        if not row._state.adding:
            row.save()
    if faults:
        raise ValidationError({"emails": [ValidationError(text, code="InvalidValue") for text in faults]})
    UserEmail.objects.bulk_create(row for row in rows if row._state.adding)
    if len(stored_rows) > len(desired_emails):
        UserEmail.objects.filter(pk__in=[row.pk for row in stored_rows[len(desired_emails) :]]).delete()
    _keep_emails(user, rows)


def _keep_emails(user: User, rows: list[UserEmail]) -> None:
    """Make `user.emails.all()` return these rows, which are the stored ones, without another query."""
    queryset: Any = user.emails.all()
    queryset._result_cache, queryset._prefetch_done = rows, True
    vars(user).setdefault("_prefetched_objects_cache", {})["emails"] = queryset
