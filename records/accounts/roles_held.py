"""Who may nest roles at a time, and whose revision a change of roles moves on."""

import uuid
from collections.abc import Iterable, Iterator

from django.db import connection
from django.db.models import F

from records.accounts.access import identifier, parameter
from records.accounts.models import Role, RoleMembership, User

CHUNK = 5_000
"""How many ids one statement names; databases limit their parameters."""


def wait_to_nest(site_id: uuid.UUID) -> None:
    """Let one transaction at a time put roles of a site into each other, so that two never close a circle together.

    Each has the outer role's row locked already, and locks people afterwards; no row would keep that order. SQLite has
    one writer at a time anyway.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (int.from_bytes(site_id.bytes[:8], "big", signed=True),))


def touch_users(keys: Iterable[uuid.UUID]) -> None:
    """Move on the revision of users whose groups changed; locks them in the order of their ids, against circles."""
    for part in chunks(sorted(keys)):
        if len(part) > 1:
            rows = User.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=part).order_by("pk")
            part = list(rows.values_list("pk", flat=True))
        User.objects.filter(pk__in=part).update(revision=F("revision") + 1)


def touch_members(role: Role) -> None:
    """Move on the revision of the role's users, who see its name; call inside the writing transaction."""
    held = RoleMembership.objects.filter(role_id=role.pk, user__isnull=False)
    touch_users(held.values_list("user_id", flat=True))


_MEMBERS = """
WITH RECURSIVE giving(outermost, id) AS (
    SELECT id, id FROM accounts_role WHERE NOT is_archived AND id IN ({marks})
    UNION
    SELECT g.outermost, m.member_role_id FROM giving g JOIN accounts_rolemembership m ON m.role_id = g.id
      JOIN accounts_role r ON r.id = m.member_role_id
     WHERE m.member_role_id IS NOT NULL AND NOT r.is_archived
) SELECT DISTINCT g.outermost, m.user_id FROM giving g JOIN accounts_rolemembership m ON m.role_id = g.id
    JOIN accounts_user u ON u.id = m.user_id WHERE u.is_active AND NOT u.is_service_account
"""
"""The people who hold each of some roles, directly or through other roles."""


def people_of(roles: Iterable[uuid.UUID]) -> dict[uuid.UUID, set[uuid.UUID]]:
    """Return the active people who hold each role, directly or through other roles; one query for 5,000 roles."""
    found: dict[uuid.UUID, set[uuid.UUID]] = {key: set() for key in roles}
    for part in chunks(found):
        with connection.cursor() as cursor:
            cursor.execute(_MEMBERS.format(marks=", ".join(["%s"] * len(part))), [parameter(key) for key in part])
            for role, user in cursor.fetchall():
                found[identifier(role)].add(identifier(user))
    return found


def chunks(keys: Iterable[uuid.UUID]) -> Iterator[list[uuid.UUID]]:
    """Yield the ids in lists that one statement can name."""
    listed = list(keys)
    for start in range(0, len(listed), CHUNK):
        yield listed[start : start + CHUNK]
