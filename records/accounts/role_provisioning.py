"""What a directory does to roles: make or take over, rename, give members, delete (DECISIONS 7.4)."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet

from records.accounts.authority import Act, Actor, NotAllowedError, require
from records.accounts.brake import count_removals
from records.accounts.models import Directory, Role, RoleMembership, SecurityKind, User
from records.accounts.models.users import printed_name
from records.accounts.roles_held import chunks, touch_members, touch_users, wait_to_nest
from records.accounts.security import security_events
from records.history.inserts import insert_rows
from records.history.snapshots import columns, differences
from records.history.trail import Author, now, recording
from records.sites.text import fold, is_blank, refuse_breaks

_AT_HAND = ("site", "directory")
"""What is set to rows at hand, and needs no look whether they are there."""


@dataclass(slots=True)
class DesiredMembers:
    """Which members come, under which display name, and which go; `exact` lets everybody go who is not among `put`."""

    put: dict[uuid.UUID, str] = field(default_factory=dict)
    drop: set[uuid.UUID] = field(default_factory=set)
    exact: bool = False

    def __bool__(self) -> bool:
        return bool(self.put or self.drop or self.exact)


@dataclass(slots=True)
class DesiredRole:
    """What a role is to become; None keeps what it is."""

    name: str | None = None
    external_id: str | None = None
    members: DesiredMembers | None = None


def lock_role(role_id: uuid.UUID) -> Role:
    """Lock a role's row, which puts the writers of its members in order; raises Role.DoesNotExist."""
    return Role.objects.select_for_update(of=("self",), no_key=True).get(pk=role_id, is_archived=False)


def lock_roles_of(user_id: uuid.UUID) -> None:
    """Lock the roles that a person is a member of, before the person: in this order every writer of members does."""
    roles = Role.objects.select_for_update(of=("self",), no_key=True).filter(memberships__user_id=user_id)
    list(roles.order_by("pk").values_list("pk", flat=True))


def add_or_match_role(site_id: uuid.UUID, desired: DesiredRole, directory: Directory, *, author: Author) -> Role:
    """Make a role of the site, or take over the one of that name that no directory owns or that this one deleted.

    Raises ValidationError, code Duplicate for a name that a directory owns, or NotAllowedError for a protected role.
    """
    name = desired.name or ""
    with recording():
        found = None
        _check_name(name)
        if fold(name):
            found = (
                Role.objects.select_for_update(of=("self",), no_key=True)
                .filter(site_id=site_id, name_key=fold(name), is_archived=False)
                .first()
            )
        if found is None:
            role = Role(site_id=site_id, name=name, directory=directory, made_by_directory=True)
            _set_external_id(role, directory, desired.external_id or "")
            _store(role, author=author)
        else:
            again = found.directory_id == directory.pk and found.hidden_from_directory
            if found.directory_id is not None and not again:
                raise _used_name()
            role = change_role(found, DesiredRole(external_id=desired.external_id), directory, author=author)
        if desired.members:
            change_members(role, desired.members, directory, author=author)
    return role


def change_role(role: Role, desired: DesiredRole, directory: Directory, *, author: Author) -> Role:
    """Rename a locked role, set its external id, take it over and change its members.

    Raises ValidationError (Duplicate: a name in use), or NotAllowedError for a role that is not this directory's.
    """
    refuse_foreign(role, directory)
    with recording():
        renamed = desired.name is not None and desired.name != role.name
        if renamed:
            _check_name(desired.name or "")
        if renamed and fold(desired.name or ""):
            others = Role.objects.filter(site_id=role.site_id, name_key=fold(desired.name or ""), is_archived=False)
            if others.exclude(pk=role.pk).exists():
                raise _used_name()
        with _changing(role, "UpdateRole", author=author):
            role.directory = directory
            role.hidden_from_directory = False
            if desired.name is not None:
                role.name = desired.name
            if desired.external_id is not None:
                _set_external_id(role, directory, desired.external_id)
        if renamed:
            touch_members(role)
        if desired.members:
            change_members(role, desired.members, directory, author=author)
    return role


def _store(role: Role, *, author: Author) -> None:
    with recording() as trail:
        role.name_key = fold(role.name)
        role.clean_fields(exclude=_AT_HAND)
        role.save(force_insert=True)
        changed = differences(role, {}, columns(role))
        trail.add(role, changed, author=author, operation="AddRole", site_id=role.site_id)


@contextmanager
def _changing(role: Role, operation: str, *, author: Author) -> Iterator[None]:
    """Let the block change the columns of a locked role, fresh from the database; then check, save and record them.

    Costs nothing when nothing changed: what a role permits is not a directory's to change, nor looked at.
    """
    with recording() as trail:
        before = columns(role)
        yield
        role.name_key = fold(role.name)
        role.clean_fields(exclude=_AT_HAND)
        changed = differences(role, before, columns(role))
        if changed:
            role.revision, role.last_modified = role.revision + 1, now()
            role.save(force_update=True)
            trail.add(role, changed, author=author, operation=operation, site_id=role.site_id)


def remove_role(role: Role, directory: Directory, *, author: Author) -> None:
    """Archive a locked role that the directory made; from another take the members it added, and hide it from it."""
    refuse_foreign(role, directory)
    with recording():
        members = RoleMembership.objects.filter(role=role)
        if not (role.made_by_directory and role.directory_id == directory.pk and not role.default_role):
            members = members.filter(directory=directory)
        keys = {user or member for user, member in members.values_list("user_id", "member_role_id")}
        change_members(role, DesiredMembers(drop=keys), directory, author=author)
        with _changing(role, "RemoveRole", author=author):
            role.directory = directory
            role.external_id = ""
            if role.made_by_directory and not role.default_role:
                role.is_archived = True
            else:
                role.hidden_from_directory = True


def refuse_foreign(role: Role, directory: Directory) -> None:
    """Raise NotAllowedError for another directory's role, and for taking over one that this one may not give.

    Taking over a role is giving it (DECISIONS 9.4); a role of its own it renames, empties and deletes in any case.
    """
    if role.directory_id not in (None, directory.pk):
        raise NotAllowedError("This role belongs to another directory.")
    if role.directory_id is None:
        require(Actor(directory=directory), Act.GIVE_ROLE, role)


def _set_external_id(role: Role, directory: Directory, value: str) -> None:
    if value and is_blank(value):
        raise ValidationError({"external_id": ValidationError("This must not be blank.", code="blank")})
    if (
        value
        and value != role.external_id
        and Role.objects.filter(directory=directory, external_id=value, is_archived=False).exclude(pk=role.pk).exists()
    ):
        fault = ValidationError("Another role of the directory has this identifier.", code="Duplicate")
        raise ValidationError({"external_id": fault})
    role.external_id = value


def _check_name(name: str) -> None:
    """Raise ValidationError for a new name that has several lines or only white space; an empty name is allowed."""
    try:
        refuse_breaks(name)
    except ValidationError as fault:
        raise ValidationError({"name": fault}) from fault
    if name and is_blank(name):
        raise ValidationError({"name": ValidationError("This must not be blank.", code="blank")})


def _used_name() -> ValidationError:
    fault = ValidationError("A role of this name exists at the site already.", code="Duplicate")
    return ValidationError({"name": fault})


def seen_members(directory_id: uuid.UUID, sites: Iterable[uuid.UUID]) -> Q:
    """Return the condition on a membership that a directory of these sites sees its member."""
    listed = list(sites)
    person = Q(
        user__home_site_id__in=listed,
        user__employee__isnull=False,
        user__removed__isnull=True,
        user__is_service_account=False,
    )
    hidden = Q(member_role__directory_id=directory_id, member_role__hidden_from_directory=True)
    return person | Q(member_role__site_id__in=listed, member_role__is_archived=False) & ~hidden


def change_members(role: Role, desired: DesiredMembers, directory: Directory, *, author: Author) -> bool:
    """Let members come and go in set-based statements and return whether anything changed; the role is locked.

    Adding one twice and removing an absent one change nothing. `exact` spares members whom the directory cannot
    see: accounts without an employee, people of other sites, deleted roles. Raises ValidationError naming an id that
    is nobody's or of a member whom the directory cannot see, or a circle of roles; NotAllowedError where the brake on
    mass removal refuses it.
    """
    with recording() as trail:
        sites = {directory.home_site_id, *(site.pk for site in directory.sites.all())}
        stored = _stored(role, desired, seen_members(directory.pk, sites))
        new = [key for key in desired.put if key not in stored]
        users, roles = _named(role, new, directory, sites)
        gone = {key for key in stored if key in desired.drop or (desired.exact and key not in desired.put)} - set(
            desired.put
        )
        _redisplay(role, desired, stored)
        if not new and not gone:
            return False
        if new:
            require(Actor(directory=directory), Act.GIVE_ROLE, role)
        went = _names(gone)
        for part in chunks(gone):
            RoleMembership.objects.filter(Q(user_id__in=part) | Q(member_role_id__in=part), role=role).delete()
        moment = now()
        insert_rows(
            [
                RoleMembership(
                    role=role,
                    user_id=key if key in users else None,
                    member_role_id=key if key in roles else None,
                    display=desired.put[key],
                    directory=directory,
                    created=moment,
                )
                for key in new
            ]
        )
        role.revision, role.last_modified = role.revision + 1, moment
        role.save(update_fields=["revision", "last_modified"])
        touch_users([*users, *gone])
        _note_people(role, users, went, author)
        count_removals(directory, _people_of(gone))
        names = users | roles
        entry = {
            "field": "members",
            "old": [{"id": str(key), "name": went[key]} for key in sorted(gone)],
            "new": [{"id": str(key), "name": names[key]} for key in new],
        }
        trail.add(role, [entry], author=author, operation="ChangeMembers", site_id=role.site_id)
    return True


def _people_of(members: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    """Return the people among members, with those of member roles, through other roles too; a query a level."""
    people, seen, step = set[uuid.UUID](), set[uuid.UUID](), set(members)
    while step:
        seen |= step
        inner: set[uuid.UUID] = set()
        for part in chunks(step):
            people.update(User.objects.filter(pk__in=part).values_list("pk", flat=True))
            held = RoleMembership.objects.filter(role_id__in=part)
            inner.update(user or role for user, role in held.values_list("user_id", "member_role_id"))
        step = inner - seen - people
    return people


def _note_people(role: Role, came: Mapping[uuid.UUID, str], went: Mapping[uuid.UUID, str], author: Author) -> None:
    """Write to the security log who was given the role and from whom it was taken."""
    left: dict[uuid.UUID, str] = {}
    for part in chunks(went):
        left |= {key: went[key] for key in User.objects.filter(pk__in=part).values_list("pk", flat=True)}
    for kind, people in ((SecurityKind.ROLE_GIVEN, came), (SecurityKind.ROLE_TAKEN, left)):
        accounts = [User(pk=key, user_name=name) for key, name in people.items()]
        security_events(kind, accounts, author=author, detail=str(role), site_id=role.site_id)


def _stored(role: Role, desired: DesiredMembers, seen: Q) -> dict[uuid.UUID, str]:
    """Return the members that the desired state names, with their display names; those to drop also when unseen."""
    rows = RoleMembership.objects.filter(role=role)
    if desired.exact:
        everybody = rows.filter(seen).values_list("user_id", "member_role_id", "display")
        return {user or member: display for user, member, display in everybody}
    stored: dict[uuid.UUID, str] = {}
    for keys, condition in ((desired.put, seen), (desired.drop, Q())):
        for part in chunks(keys):
            found = rows.filter(Q(user_id__in=part) | Q(member_role_id__in=part), condition)
            for user, member, display in found.values_list("user_id", "member_role_id", "display"):
                stored[user or member] = display
    return stored


def _redisplay(role: Role, desired: DesiredMembers, stored: Mapping[uuid.UUID, str]) -> None:
    """Keep the display names that came with members who are there already."""
    changed: dict[str, list[uuid.UUID]] = defaultdict(list)
    for key, display in desired.put.items():
        if key in stored and display and display != stored[key]:
            changed[display].append(key)
    if not changed:
        return
    keys = {key for part in changed.values() for key in part}
    rows: list[RoleMembership] = []
    for part in chunks(keys):
        rows += RoleMembership.objects.filter(Q(user_id__in=part) | Q(member_role_id__in=part), role=role)
    for row in rows:
        row.display = desired.put[row.user_id or row.member_role_id]  # type: ignore[index]
    RoleMembership.objects.bulk_update(rows, ["display"], batch_size=500)


def _named(
    role: Role, keys: Sequence[uuid.UUID], directory: Directory, sites: set[uuid.UUID]
) -> tuple[dict[uuid.UUID, str], dict[uuid.UUID, str]]:
    """Return which keys are users of the sites and which are roles of this one's that the directory sees.

    Raises ValidationError.
    """
    users: dict[uuid.UUID, str] = {}
    roles: dict[uuid.UUID, str] = {}
    for part in chunks(keys):
        found = User.objects.filter(
            pk__in=part, home_site_id__in=sites, employee__isnull=False, removed__isnull=True, is_service_account=False
        )
        users |= _printed(found)
    rest = [key for key in keys if key not in users]
    for part in chunks(rest):
        found_roles = Role.objects.filter(pk__in=part, site_id=role.site_id, is_archived=False).exclude(
            directory=directory, hidden_from_directory=True
        )
        roles |= dict(found_roles.values_list("pk", "name"))
    unknown = [key for key in rest if key not in roles]
    if unknown:
        fault = ValidationError(f"There is no member with the id {str(unknown[0])!r}.", code="InvalidReference")
        raise ValidationError({"members": fault})
    if roles:
        _refuse_circle(role, set(roles))
    return users, roles


def _refuse_circle(role: Role, members: set[uuid.UUID]) -> None:
    """Raise ValidationError when one of the roles is this one or holds it, through others too; one query for them."""
    wait_to_nest(role.site_id)
    edges: dict[uuid.UUID, set[uuid.UUID]] = defaultdict(set)
    held = RoleMembership.objects.filter(role__site_id=role.site_id, member_role__isnull=False)
    for outer, inner in held.values_list("role_id", "member_role_id"):
        edges[outer].add(inner)
    waiting, seen = list(members), set()
    while waiting:
        step = waiting.pop()
        if step == role.pk:
            fault = ValidationError(
                "A role cannot be its own member, also not through other roles.", code="InvalidValue"
            )
            raise ValidationError({"members": fault})
        if step not in seen:
            seen.add(step)
            waiting += edges[step]


def _names(keys: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
    names: dict[uuid.UUID, str] = defaultdict(str)
    for part in chunks(keys):
        names.update(_printed(User.objects.filter(pk__in=part)))
        names.update(Role.objects.filter(pk__in=[key for key in part if key not in names]).values_list("pk", "name"))
    return names


def _printed(users: QuerySet[User]) -> dict[uuid.UUID, str]:
    """Return the printed names of users by id, without making an object of each."""
    rows = users.values_list("pk", "display_name", "given_name", "family_name", "user_name")
    return {key: printed_name(*names) for key, *names in rows}
