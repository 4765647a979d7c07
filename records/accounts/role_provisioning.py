"""What a directory does to roles: make or take over, rename, delete (DECISIONS 7.4)."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from records.accounts.authority import Act, Actor, NotAllowedError, require
from records.accounts.models import Directory, Role, RoleMembership
from records.accounts.role_members import DesiredMembers, change_members
from records.accounts.roles_held import lock_outer_roles, touch_members, touch_outer_roles
from records.history.snapshots import columns
from records.history.statements import Rows, Statement
from records.history.trail import Author, recording
from records.sites.text import fault_at, fold, is_blank, refuse_breaks
from records.sites.values import LockedContent
from records.sites.writing import add_record, changing_locked, locking


@dataclass(slots=True)
class DesiredRole:
    """The desired state of a role; None leaves a value as it is."""

    name: str | None = None
    external_id: str | None = None
    members: DesiredMembers | None = None


def locking_role(role_id: uuid.UUID) -> Statement:
    """Return the statement that locks a role's row, so that its members are changed by one writer at a time."""
    return locking(Role).by(role_id)


def locked_role(rows: Rows) -> Role:
    """Return the role that `locking_role` locked; raises Role.DoesNotExist."""
    roles: list[Role] = locking(Role).objects(rows)
    if not roles or roles[0].is_archived:
        raise Role.DoesNotExist
    return roles[0]


def lock_roles_of(user_id: uuid.UUID) -> None:
    """Lock the roles that a person is a member of, before the person; all writers of members lock in this order."""
    roles = Role.objects.select_for_update(of=("self",), no_key=True).filter(memberships__user_id=user_id)
    list(roles.order_by("pk").values_list("pk", flat=True))


def add_or_match_role(site_id: uuid.UUID, desired: DesiredRole, directory: Directory, *, author: Author) -> Role:
    """Make a role of the site, or take over the one with that name if no directory owns it or this one deleted it.

    Raises ValidationError, code Duplicate, for a name that a directory owns, or NotAllowedError for a protected role.
    """
    name = desired.name or ""
    with recording():
        existing_role = None
        _check_name(name)
        if fold(name):
            rows = Role.objects.at(site_id).filter(name_key=fold(name), is_archived=False)
            for key in rows.values_list("pk", flat=True):
                lock_outer_roles(key)
            existing_role = rows.select_for_update(of=("self",), no_key=True).first()
        if existing_role is None:
            role = Role(site_id=site_id, name=name, directory=directory, made_by_directory=True)
            _set_external_id(role, directory, desired.external_id or "")
            add_record(role, author=author, operation="AddRole")
        else:
            returns_to_directory = existing_role.directory_id == directory.pk and existing_role.hidden_from_directory
            if existing_role.directory_id is not None and not returns_to_directory:
                raise _used_name()
            role = change_role(existing_role, DesiredRole(external_id=desired.external_id), directory, author=author)
        if desired.members:
            change_members(role, desired.members, directory, author=author)
    return role


def change_role(role: Role, desired: DesiredRole, directory: Directory, *, author: Author) -> Role:
    """Rename a locked role, set its external id, take it over and change its members.

    Raises ValidationError (Duplicate: the name is in use), or NotAllowedError for a role that does not belong to this
    directory.
    """
    refuse_foreign(role, directory)
    is_own = role.directory_id == directory.pk and not role.hidden_from_directory
    if is_own and desired.members and desired.name is None and desired.external_id is None:
        change_members(role, desired.members, directory, author=author)
        return role
    with recording():
        is_renamed = desired.name is not None and desired.name != role.name
        if is_renamed:
            _check_name(desired.name or "")
        if is_renamed and fold(desired.name or ""):
            roles = Role.objects.at(role.site_id).filter(name_key=fold(desired.name or ""), is_archived=False)
            if roles.exclude(pk=role.pk).exists():
                raise _used_name()
        appears = is_renamed or role.hidden_from_directory
        with _changing(role, "UpdateRole", author=author):
            role.directory = directory
            role.hidden_from_directory = False
            if desired.name is not None:
                role.name = desired.name
            if desired.external_id is not None:
                _set_external_id(role, directory, desired.external_id)
        if appears:
            touch_members(role, desired.members.put if desired.members else ())
        if desired.members:
            change_members(role, desired.members, directory, author=author)
    return role


@contextmanager
def _changing(role: Role, operation: str, *, author: Author) -> Iterator[None]:
    """Let the block change the columns of a locked, freshly read role; then check, store and record them.

    Runs no query if nothing changed. A directory cannot change what a role permits, so that is not compared.
    """
    with (
        recording() as trail,
        changing_locked(trail, role, LockedContent(role, columns(role), {}), author=author, operation=operation),
    ):
        yield


def remove_role(role: Role, directory: Directory, *, author: Author) -> None:
    """Archive a locked role that the directory made; from another, remove the members it added, and hide the role."""
    refuse_foreign(role, directory)
    with recording():
        members = RoleMembership.objects.filter(role=role)
        if role.made_by_directory and role.directory_id == directory.pk and not role.default_role:
            touch_outer_roles(role)
        else:
            touch_members(role)
            members = members.filter(directory=directory)
        keys = {user or member for user, member in members.values_list("user_id", "member_role_id")}
        change_members(role, DesiredMembers(drop=keys, drops_unseen=True), directory, author=author)
        with _changing(role, "RemoveRole", author=author):
            role.directory = directory
            role.external_id = ""
            if role.made_by_directory and not role.default_role:
                role.is_archived = True
            else:
                role.hidden_from_directory = True


def refuse_foreign(role: Role, directory: Directory) -> None:
    """Raise NotAllowedError for another directory's role, and for taking over a role that this one may not give.

    Taking over a role counts as giving it (DECISIONS 9.4). The directory may always rename, empty and delete its own
    roles.
    """
    if role.directory_id not in (None, directory.pk):
        raise NotAllowedError("This role belongs to another directory.")
    if role.directory_id is None:
        require(Actor(directory=directory), Act.GIVE_ROLE, role)


def _set_external_id(role: Role, directory: Directory, value: str) -> None:
    if value and is_blank(value):
        raise fault_at("external_id", gettext("This must not be blank."), "blank")
    if (
        value
        and value != role.external_id
        and Role.objects.filter(directory=directory, external_id=value, is_archived=False).exclude(pk=role.pk).exists()
    ):
        raise fault_at("external_id", gettext("Another role of the directory has this identifier."), "Duplicate")
    role.external_id = value


def _check_name(name: str) -> None:
    """Raise ValidationError for a new name that has several lines or only white space; an empty name is allowed."""
    try:
        refuse_breaks(name)
    except ValidationError as fault:
        raise ValidationError({"name": fault}) from fault
    if name and is_blank(name):
        raise fault_at("name", gettext("This must not be blank."), "blank")


def _used_name() -> ValidationError:
    fault = ValidationError(gettext("The site already has a role with this name."), code="Duplicate")
    return ValidationError({"name": fault})
