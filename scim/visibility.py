"""What a token sees: the users, roles and memberships at its directory's sites."""

from django.db.models import QuerySet

from records.accounts.models import Role, RoleMembership, User
from records.accounts.role_members import seen_members
from scim.callers import Caller, Scope


def visible_users(caller: Caller | Scope) -> QuerySet[User]:
    """Return the users that the token sees: employees at its directory's sites, except those that were removed."""
    return User.objects.filter(
        home_site_id__in=caller.site_ids, employee__isnull=False, removed__isnull=True, is_service_account=False
    )


def sees_user(caller: Caller, user: User) -> bool:
    """Return whether the loaded account of an employee is one of `visible_users`."""
    return user.home_site_id in caller.site_ids and user.removed is None and not user.is_service_account


def sees_role(caller: Caller, role: Role) -> bool:
    """Return whether a loaded role is one of `visible_roles`."""
    hidden = role.directory_id == caller.directory_id and role.hidden_from_directory
    return role.site_id in caller.site_ids and not role.is_archived and not hidden


def visible_roles(caller: Caller | Scope) -> QuerySet[Role]:
    """Return the roles that the token sees: those of its directory's sites, except those that the directory deleted."""
    return Role.objects.filter(site_id__in=caller.site_ids, is_archived=False).exclude(
        directory_id=caller.directory_id, hidden_from_directory=True
    )


def visible_memberships(caller: Caller | Scope) -> QuerySet[RoleMembership]:
    """Return the memberships whose member the token sees."""
    return RoleMembership.objects.filter(seen_members(caller.directory_id, caller.site_ids))
