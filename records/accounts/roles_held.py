"""Serialising the nesting of roles, and the revisions that a change of roles increments."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable

from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import F
from django.utils.translation import gettext

from records.accounts.models import Role, RoleMembership
from records.history.sets import id_of, ids, ids_parameter, ids_selection, ids_sql
from records.history.statements import Statement, parameter, together, vendor


def lock_nesting(site_id: uuid.UUID) -> None:
    """Allow only one transaction at a time to nest roles of a site, so that two of them never create a cycle together.

    Each transaction has already locked the outer role's row and locks people afterwards, so a row lock would not keep
    the order. SQLite has only one writer at a time anyway.
    """
    if vendor() == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (int.from_bytes(site_id.bytes[:8], "big", signed=True),))


def refuse_cycle(role: Role, members: Iterable[uuid.UUID]) -> None:
    """Raise ValidationError if one of the roles is this one or contains it, also through others; one query for all."""
    lock_nesting(role.site_id)
    edges: dict[uuid.UUID, set[uuid.UUID]] = defaultdict(set)
    memberships = RoleMembership.objects.filter(role__site_id=role.site_id, member_role__isnull=False)
    for outer, inner in memberships.values_list("role_id", "member_role_id"):
        edges[outer].add(inner)
    queue, visited = [(member, member) for member in members], set()
    while queue:
        step, member = queue.pop()
        if step == role.pk:
            text = gettext("A role cannot be its own member.")
            if member != role.pk:
                text = gettext(
                    "%(member)s cannot be a member of %(role)s, because %(role)s is already a member of %(member)s, "
                    "directly or through other roles."
                ) % {"member": Role.objects.get(pk=member), "role": role}
            raise ValidationError(text, code="InvalidValue")
        if step not in visited:
            visited.add(step)
            queue += [(inner, member) for inner in edges[step]]


def touch_users(keys: Iterable[uuid.UUID]) -> None:
    """Increment the revision of users whose groups changed; locks them in the order of their ids, against deadlocks."""
    together([touching(keys)])


def touching(keys: Iterable[uuid.UUID]) -> Statement:
    """Return the statement of `touch_users`."""
    key_list = [*keys]
    id_sql, parameters = ids_selection(key_list)
    in_order = vendor() == "postgresql" and len(key_list) > 1
    return (_TOUCH_IN_ORDER if in_order else _TOUCH).format(ids=id_sql), parameters


_TOUCH = "UPDATE accounts_user SET revision = revision + 1 WHERE id IN ({ids})"
_TOUCH_IN_ORDER = """
WITH locked AS MATERIALIZED (SELECT id FROM accounts_user WHERE id IN ({ids}) ORDER BY id FOR NO KEY UPDATE)
UPDATE accounts_user SET revision = revision + 1 FROM locked WHERE accounts_user.id = locked.id"""


def locking_people(role_id: uuid.UUID, keys: Collection[uuid.UUID]) -> list[Statement]:
    """Return the statement that locks those of the ids that are users in the role, in the order of `touching`.

    It also locks the people in those of the ids that are roles in the role, but nobody else: everybody in the role may
    be locked already, and locking another person after them would break that order.
    """
    id_sql, parameters = ids_selection(keys)
    key = parameter(role_id)
    statement = _LOCK_PEOPLE.format(ids=id_sql), [key, *parameters, key, *parameters]
    return [statement] if connection.vendor == "postgresql" else []


_LOCK_PEOPLE = """
WITH RECURSIVE inside(user_id, role_id) AS (
    (SELECT user_id, member_role_id FROM accounts_rolemembership WHERE role_id = %s AND user_id IN ({ids})
     UNION ALL
     SELECT user_id, member_role_id FROM accounts_rolemembership WHERE role_id = %s AND member_role_id IN ({ids}))
    UNION
    SELECT m.user_id, m.member_role_id FROM inside JOIN accounts_rolemembership m ON m.role_id = inside.role_id
) SELECT id FROM accounts_user WHERE id IN (SELECT user_id FROM inside) ORDER BY id FOR NO KEY UPDATE"""


def locking_outer_roles(role_id: uuid.UUID) -> list[Statement]:
    """Return the statement that locks a role and those that directly contain it in order, where rows can be locked."""
    outer = "SELECT role_id FROM accounts_rolemembership WHERE member_role_id = %s"
    sql = f"SELECT id FROM accounts_role WHERE id = %s OR id IN ({outer}) ORDER BY id FOR NO KEY UPDATE"  # noqa: S608
    key = parameter(role_id)
    return [(sql, [key, key])] if connection.vendor == "postgresql" else []


def lock_outer_roles(role_id: uuid.UUID) -> None:
    """Lock a role and those that show it, in the order of all writers; call it before anything else locks one of them.

    Whatever renames, archives or restores a role, or shows it again, changes the roles that contain it as well.
    """
    together(locking_outer_roles(role_id))


def touch_outer_roles(role: Role) -> None:
    """Increment the revision of the roles that directly contain the role, and show its name among their members."""
    outer = RoleMembership.objects.filter(member_role_id=role.pk).values("role_id")
    Role.objects.filter(pk__in=outer).update(revision=F("revision") + 1)


def touch_members(role: Role, new_members: Iterable[uuid.UUID] = ()) -> None:
    """Increment the revision of all who show the role: the roles that contain it, and all people in it.

    It does the same for the people and roles (`new_members`) that are about to become its members. Call it inside the
    writing transaction, before anything else locks a user: all are locked in one statement.
    """
    touch_outer_roles(role)
    touch_users({*people_within([role.pk, *new_members]), *new_members})


def people_within(roles: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    """Return all people in these roles, active or not, including those in nested roles; one query per level."""
    people, visited, step = set[uuid.UUID](), set[uuid.UUID](), set(roles)
    while step:
        visited |= step
        inner: set[uuid.UUID] = set()
        memberships = RoleMembership.objects.filter(role_id__in=ids(step)).order_by()
        for user, role in memberships.values_list("user_id", "member_role_id"):
            (people if user else inner).add(user or role)
        step = inner - visited
    return people


_MEMBERS = """
WITH RECURSIVE giving(outermost, id) AS (
    SELECT id, id FROM accounts_role WHERE NOT is_archived AND id IN ({ids})
    UNION
    SELECT g.outermost, m.member_role_id FROM giving g JOIN accounts_rolemembership m ON m.role_id = g.id
      JOIN accounts_role r ON r.id = m.member_role_id
     WHERE m.member_role_id IS NOT NULL AND NOT r.is_archived
) SELECT DISTINCT g.outermost, m.user_id FROM giving g JOIN accounts_rolemembership m ON m.role_id = g.id
    JOIN accounts_user u ON u.id = m.user_id WHERE u.is_active AND NOT u.is_service_account
"""
"""A query of the people who hold each of some roles, directly or through other roles."""


def people_with(permission: str, sites: Collection[uuid.UUID]) -> dict[uuid.UUID, set[uuid.UUID]]:
    """Return the active people to whom roles give a permission (`app.codename`) at each site; two queries.

    Superusers without such a role are not among them.
    """
    app, codename = permission.split(".")
    conditions = {"permissions__content_type__app_label": app, "permissions__codename": codename}
    rows = Role.objects.filter(site__in=sites, is_archived=False, **conditions).values_list("pk", "site_id")
    site_of = dict(rows)
    people_by_site: dict[uuid.UUID, set[uuid.UUID]] = {site: set() for site in sites}
    for role, people in people_of(site_of).items():
        people_by_site[site_of[role]] |= people
    return people_by_site


def people_of(roles: Iterable[uuid.UUID]) -> dict[uuid.UUID, set[uuid.UUID]]:
    """Return the active people who hold each role, directly or through other roles; one query."""
    people_by_role: dict[uuid.UUID, set[uuid.UUID]] = {key: set() for key in roles}
    [rows] = together([(_MEMBERS.format(ids=ids_sql()), [ids_parameter(people_by_role)])])
    for role, user in rows:
        people_by_role[id_of(role)].add(id_of(user))
    return people_by_role
