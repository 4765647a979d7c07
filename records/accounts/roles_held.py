"""Which default roles an account holds, and which roles lead to one through nesting."""

import uuid

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
