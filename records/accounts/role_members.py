"""The members of a role that a directory adds and removes: one statement reads the present state, a few write."""

import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db import connection

from records.accounts.authority import Act, Actor, permissions_statement, require, sites_of
from records.accounts.brake import asking_brake, counting_removals
from records.accounts.models import Directory, Role, RoleMembership, SecurityKind
from records.accounts.models.users import printed_name
from records.accounts.roles_held import locking_people, people_within, refuse_cycle, touching
from records.accounts.security import noting_people
from records.history.digests import FieldChange
from records.history.sets import id_of, ids_selection, insertion
from records.history.statements import Rows, Statement, parameter, together
from records.history.trail import Author, now, recording
from records.sites.text import fault_at


@dataclass(slots=True)
class DesiredMembers:
    """The members to add, with their display names, and those to remove; `exact` removes everybody not among `put`.

    `users` has the type that the request states for some of the members to add: a user (true) or a role (false).
    Members whom the directory cannot see stay, but with `drops_unseen` those among `drop` are removed too.
    """

    put: dict[uuid.UUID, str] = field(default_factory=dict)
    users: dict[uuid.UUID, bool] = field(default_factory=dict)
    drop: set[uuid.UUID] = field(default_factory=set)
    exact: bool = False
    drops_unseen: bool = False

    def __bool__(self) -> bool:
        return bool(self.put or self.drop or self.exact)


class MemberFacts(NamedTuple):
    """What the database knows about an id: which user or role it is, and whether it is or can become a member."""

    name: str
    is_user: bool
    is_visible: bool
    """Whether the directory sees the user or role."""
    is_eligible: bool
    """Whether the directory can add it: a user whom it sees, or a role of the same site that it sees."""
    membership: uuid.UUID | None
    display: str


def change_members(role: Role, desired: DesiredMembers, directory: Directory, *, author: Author) -> bool:
    """Add and remove members in set-based statements and return whether anything changed; the role is locked.

    Adding a present member or removing an absent one changes nothing. Even with `exact`, members stay whom the
    directory cannot see: accounts without an employee, people of other sites, deleted roles. Raises ValidationError for
    an unknown id, for a member whom the directory cannot see, for a member of another type than the request states, and
    for a cycle of roles. Raises NotAllowedError if the brake on mass removal refuses it.
    """
    with recording(partial(about_members, role.pk, desired, directory), savepoint=False) as trail:
        facts = _facts_of(role, trail.answers[0])
        present_ids = {key for key, member in facts.items() if member.membership and member.is_visible}
        new = [key for key in desired.put if key not in present_ids]
        _refuse_unknown(role, new, facts)
        _refuse_wrong_types(desired.users, facts)
        shows_others = _store_display_names(desired, present_ids, facts)
        droppable = {key for key in desired.drop if facts[key].membership} if desired.drops_unseen else present_ids
        removed_ids = {key for key in droppable if key in desired.drop or desired.exact} - desired.put.keys()
        if not new and not removed_ids:
            if shows_others:
                trail.store([_stamping(role)])
            return shows_others
        if new:
            require(Actor(directory=directory), Act.GIVE_ROLE, role, permission_rows=trail.answers[1])
        statements = _writes(role, desired, directory, new, removed_ids, facts)
        new_people, removed_people = _people(new, facts), _people(removed_ids, facts)
        for kind, people in ((SecurityKind.ROLE_GIVEN, new_people), (SecurityKind.ROLE_TAKEN, removed_people)):
            names = {key: facts[key].name for key in people}
            statements += noting_people(kind, names, author=author, detail=str(role), site_id=role.site_id)
        if all_removed := {*removed_people, *people_within([key for key in removed_ids if not facts[key].is_user])}:
            answers = trail.answers[-2:]
            if not _asks_brake(desired) or all_removed != desired.drop:
                # Not at the end: the people must be locked before the directory.
                answers = together([*statements, *asking_brake(directory, all_removed)])[-2:]
                statements = []
            statements += counting_removals(all_removed, answers)
        trail.store(statements)
        entry: FieldChange = {
            "field": "members",
            "old": [{"id": str(key), "name": facts[key].name} for key in sorted(removed_ids)],
            "new": [{"id": str(key), "name": facts[key].name} for key in new],
        }
        trail.add(role, [entry], author=author, operation="ChangeMembers", site_id=role.site_id)
    return True


_FACTS = """
WITH named(id) AS ({ids})
SELECT named.id, u.id IS NOT NULL, u.display_name, u.given_name, u.family_name, u.user_name, r.name,
       u.home_site_id IN ({sites}) AND u.removed IS NULL AND NOT u.is_service_account AND e.id IS NOT NULL,
       NOT r.is_archived AND NOT (r.directory_id IS NOT NULL AND r.directory_id = %s AND r.hidden_from_directory)
         AND r.site_id IN ({sites}), r.site_id, COALESCE(p.id, q.id), COALESCE(p.display, q.display, '')
  FROM named
  LEFT JOIN accounts_user u ON u.id = named.id
  LEFT JOIN employees_employee e ON e.user_id = u.id
  LEFT JOIN accounts_role r ON r.id = named.id
  LEFT JOIN accounts_rolemembership p ON p.role_id = %s AND p.user_id = named.id
  LEFT JOIN accounts_rolemembership q ON q.role_id = %s AND q.member_role_id = named.id
"""
_PRESENT = " UNION SELECT COALESCE(m.user_id, m.member_role_id) FROM accounts_rolemembership m WHERE m.role_id = %s"


def about_members(role_id: uuid.UUID, desired: DesiredMembers, directory: Directory) -> list[Statement]:
    """Return the statements with which `change_members` begins: what is known of the ids, and what the role permits.

    They ask about each id of the desired state, and about all members if it is exact. If it only removes, they also ask
    the brake whether all of them can be removed.
    """
    key, (id_sql, about) = parameter(role_id), ids_selection(desired.put.keys() | desired.drop)
    sites = [parameter(key) for key in sites_of(directory)]
    marks = ", ".join(["%s"] * len(sites))
    sql = _FACTS.format(ids=id_sql + (_PRESENT if desired.exact else ""), sites=marks)
    if desired.exact:
        about = [*about, key]
    facts = sql, [*about, *sites, parameter(directory.pk), *sites, key, key]
    if _asks_brake(desired):
        return [facts, *locking_people(role_id, desired.drop), *asking_brake(directory, desired.drop)]
    return [facts, permissions_statement(role_id)] if desired.put else [facts]


def _asks_brake(desired: DesiredMembers) -> bool:
    """Return whether the brake is asked at the beginning: if the write waits for no other lock after that."""
    return bool(desired.drop) and not desired.put and not desired.exact


def _facts_of(role: Role, rows: Rows) -> dict[uuid.UUID, MemberFacts]:
    """Return what the first statement of `about_members` says about each id."""
    facts: dict[uuid.UUID, MemberFacts] = {}
    for (
        key,
        is_user,
        display_name,
        given_name,
        family_name,
        user_name,
        name,
        sees_user,
        sees_role,
        site,
        membership,
        display,
    ) in rows:
        if is_user:
            name, site = printed_name(display_name, given_name, family_name, user_name), None
        facts[id_of(key)] = MemberFacts(
            name or "",
            bool(is_user),
            bool(sees_user or sees_role),
            bool(sees_user or (sees_role and id_of(site) == role.site_id)),
            membership and id_of(membership),
            display,
        )
    return facts


def _refuse_unknown(role: Role, new: Collection[uuid.UUID], facts: dict[uuid.UUID, MemberFacts]) -> None:
    """Raise ValidationError for an id that cannot be a member, and for a role that would contain itself."""
    for key in new:
        if not facts[key].is_eligible:
            raise fault_at("members", f"No member has the id {str(key)!r}.", "InvalidReference")
    if roles := {key for key in new if not facts[key].is_user}:
        try:
            refuse_cycle(role, roles)
        except ValidationError as fault:
            raise ValidationError({"members": fault}) from fault


def _refuse_wrong_types(users: dict[uuid.UUID, bool], facts: dict[uuid.UUID, MemberFacts]) -> None:
    """Raise ValidationError for a member of another type than the request states."""
    for key, is_user in users.items():
        if facts[key].is_user != is_user:
            text = f"'{key}' is the id of a {'User' if facts[key].is_user else 'Group'}, not of what type says."
            raise fault_at("members", text, "InvalidValue")


def _writes(
    role: Role,
    desired: DesiredMembers,
    directory: Directory,
    new: Collection[uuid.UUID],
    removed_ids: Collection[uuid.UUID],
    facts: dict[uuid.UUID, MemberFacts],
) -> list[Statement]:
    """Return the statements that delete and store memberships and increment the role's and the people's revisions."""
    statements, stamp = list[Statement](), _stamping(role)
    if removed_ids:
        id_sql, memberships = ids_selection([facts[key].membership for key in removed_ids])  # type: ignore[misc]
        statements.append((f"DELETE FROM accounts_rolemembership WHERE id IN ({id_sql})", memberships))  # noqa: S608
    if new:
        common_values = {"role": role.pk, "directory": directory.pk, "created": role.last_modified}
        users = [(key, None) if facts[key].is_user else (None, key) for key in new]
        rows = [(uuid.uuid4(), *member, desired.put[key]) for key, member in zip(new, users, strict=True)]
        statements.append(insertion(RoleMembership, common_values, ("id", "user", "member_role", "display"), rows))
    statements.append(stamp)
    people = {key for key in (*new, *removed_ids) if facts[key].is_user}
    nested_roles = {*new, *removed_ids} - people
    people |= people_within(nested_roles)
    return [*statements, touching(people)] if people else statements


def _stamping(role: Role) -> Statement:
    """Give a locked role its next revision, and return the statement that stores it."""
    role.revision, role.last_modified = role.revision + 1, now()
    at = connection.ops.adapt_datetimefield_value(role.last_modified)
    sql = "UPDATE accounts_role SET revision = %s, last_modified = %s WHERE id = %s"
    return sql, [role.revision, at, parameter(role.pk)]


def _people(keys: Iterable[uuid.UUID], facts: dict[uuid.UUID, MemberFacts]) -> list[uuid.UUID]:
    """Return those of the members who are users."""
    return [key for key in keys if facts[key].is_user]


def _store_display_names(
    desired: DesiredMembers, present_ids: Collection[uuid.UUID], facts: dict[uuid.UUID, MemberFacts]
) -> bool:
    """Store the display names of present members that differ from those shown; returns whether there are any."""
    rows = [
        RoleMembership(pk=facts[key].membership, display=display)
        for key, display in desired.put.items()
        if key in present_ids and display and display != (facts[key].display or facts[key].name)
    ]
    if rows:
        RoleMembership.objects.bulk_update(rows, ["display"], batch_size=500)
    return bool(rows)
