"""Which default roles an account holds, which roles lead to one through nesting, and who may nest them next."""

import uuid

from django.db import connection

from records.accounts.models import DefaultRole, Role, RoleMembership


def holds_default_role(user_id: uuid.UUID, default: DefaultRole) -> bool:
    """Return whether the account holds the default role at any site, directly or through other roles."""
    direct = set(RoleMembership.objects.filter(user_id=user_id).values_list("role_id", flat=True))
    return leads_to_default_role(direct, default)


def leads_to_default_role(role_ids: set[uuid.UUID], default: DefaultRole) -> bool:
    """Return whether one of the roles is the default role, or its members hold it through nesting; a query a level."""
    step, seen = set(role_ids), set()
    while step:
        if Role.objects.filter(pk__in=step, default_role=default, is_archived=False).exists():
            return True
        seen |= step
        step = set(RoleMembership.objects.filter(member_role_id__in=step).values_list("role_id", flat=True)) - seen
    return False


def wait_to_nest(site_id: uuid.UUID) -> None:
    """Let one transaction at a time put roles of a site into each other, so that two never close a circle together.

    Each has the outer role's row locked already, and locks people afterwards; no row would keep that order. SQLite has
    one writer at a time anyway.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (int.from_bytes(site_id.bytes[:8], "big", signed=True),))
