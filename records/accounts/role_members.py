"""The members of a role that a directory gives and takes away, in statements that each handle all of them."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet

from records.accounts.authority import Act, Actor, require
from records.accounts.brake import count_removals
from records.accounts.models import Directory, Role, RoleMembership, SecurityKind, User
from records.accounts.models.users import printed_name
from records.accounts.roles_held import chunks, touch_users, wait_to_nest
from records.accounts.security import security_events
from records.history.inserts import insert_rows
from records.history.trail import Author, now, recording


@dataclass(slots=True)
class DesiredMembers:
    """Which members come, under which display name, and which go; `exact` lets everybody go who is not among `put`."""

    put: dict[uuid.UUID, str] = field(default_factory=dict)
    drop: set[uuid.UUID] = field(default_factory=set)
    exact: bool = False

    def __bool__(self) -> bool:
        return bool(self.put or self.drop or self.exact)


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
