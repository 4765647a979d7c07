"""Who may do what with the records of which site; every interface asks this one module (DECISIONS 2.5).

Acts on accounts, roles and keys are decided by `records/accounts/authority.py`, which all interfaces ask as well.

Each process keeps what a role permits, under the role's id and revision. It queries each time which roles a user holds
and at which revision, so that a change takes effect at once in every process.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial

from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from records.accounts.models import Role, User
from records.history.sets import id_of
from records.history.statements import parameter
from records.sites.models import Site

Permissions = frozenset[str]
Visitor = User | AnonymousUser
"""The user of a request. Somebody who is not signed in may do nothing."""

EVERYTHING: Permissions = frozenset({"*"})
NOTHING: Permissions = frozenset()

HELD_ROLES = """held(id) AS (
    SELECT m.role_id FROM accounts_rolemembership m JOIN accounts_role r ON r.id = m.role_id
     WHERE m.user_id {users} AND NOT r.is_archived
    UNION
    SELECT m.role_id FROM held JOIN accounts_rolemembership m ON m.member_role_id = held.id
      JOIN accounts_role r ON r.id = m.role_id WHERE NOT r.is_archived
)"""
"""A query of every role that users (`{users}`: a condition on their ids) hold, directly or through other roles."""

_HELD_ROLES_BY_SITE = f"""
WITH RECURSIVE {HELD_ROLES.format(users="= %s")}
SELECT r.site_id, r.id, r.revision FROM held JOIN accounts_role r ON r.id = held.id
  JOIN sites_site s ON s.id = r.site_id WHERE {{sites}} ORDER BY r.id
"""  # noqa: S608 (no outside text)

_permissions_cache: dict[uuid.UUID, tuple[int, Permissions]] = {}


def permissions_of_roles(roles: list[tuple[uuid.UUID, int]]) -> Permissions:
    """Return what the roles (id and revision) permit together; one query if some are not yet known at that revision."""
    uncached_roles = [
        (role, revision) for role, revision in roles if _permissions_cache.get(role, (None,))[0] != revision
    ]
    if uncached_roles:
        permissions = stored_permissions([role for role, _ in uncached_roles])
        _permissions_cache.update({role: (revision, permissions[role]) for role, revision in uncached_roles})
    sets = [_permissions_cache[role][1] for role, _ in roles]
    return sets[0] if len(sets) == 1 else frozenset().union(*sets)


def stored_permissions(roles: Iterable[uuid.UUID]) -> dict[uuid.UUID, Permissions]:
    """Return the permissions of each role alone, as this transaction sees them; one query."""
    permissions: dict[uuid.UUID, set[str]] = {role: set() for role in roles}
    rows = Role.permissions.through.objects.filter(role_id__in=[*permissions]).values_list(
        "role_id", "permission__content_type__app_label", "permission__codename"
    )
    for role, app, codename in rows:
        permissions[role].add(f"{app}.{codename}")
    return {role: frozenset(names) for role, names in permissions.items()}


def roles_held(user_id: uuid.UUID, *, at_archived_sites: bool = False) -> dict[uuid.UUID, list[tuple[uuid.UUID, int]]]:
    """Return, by site, the roles that the user holds, directly or through other roles; one query.

    Roles at archived sites permit nothing and are left out unless they are asked for.
    """
    with connection.cursor() as cursor:
        sites = "TRUE" if at_archived_sites else "NOT s.is_archived"
        cursor.execute(_HELD_ROLES_BY_SITE.format(sites=sites), (parameter(user_id),))
        rows = cursor.fetchall()
    roles: dict[uuid.UUID, list[tuple[uuid.UUID, int]]] = defaultdict(list)
    for site_id, role_id, revision in rows:
        roles[id_of(site_id)].append((id_of(role_id), revision))
    return roles


def permissions_by_site(user: Visitor) -> dict[uuid.UUID, Permissions]:
    """Return what the user may do at each site. The user object, which lives for one request, keeps the result."""
    result = user.__dict__.get("_permissions_by_site")
    if result is None:
        if not user.is_active:
            result = {}
        elif user.is_superuser:
            result = dict.fromkeys(Site.objects.filter(is_archived=False).values_list("pk", flat=True), EVERYTHING)
        else:
            result = {site: permissions_of_roles(roles) for site, roles in roles_held(user.pk).items()}
        user.__dict__["_permissions_by_site"] = result
    return result


def contains_any(permissions: Permissions, *any_of: str) -> bool:
    """Return whether the set contains one of the permissions."""
    return not permissions.isdisjoint(("*", *any_of))


def may(user: Visitor, site: Site | uuid.UUID | None, *any_of: str) -> bool:
    """Return whether the user has one of the permissions at this site."""
    site_id = site.pk if isinstance(site, Site) else site
    if site_id is None:
        return bool(user.is_active and user.is_superuser)
    return contains_any(permissions_by_site(user).get(site_id, NOTHING), *any_of)


def asking(user: Visitor, site: Site | uuid.UUID | None) -> Callable[[str], bool]:
    """Return a function that returns whether the user holds a permission at the site."""
    return partial(may, user, site)


def may_anywhere(user: Visitor, permission: str) -> bool:
    """Return whether the user may do this at at least one site."""
    return (user.is_active and user.is_superuser) or any(
        contains_any(permissions, permission) for permissions in permissions_by_site(user).values()
    )


def may_see_app(user: Visitor, app_label: str) -> bool:
    """Return whether the user holds any permission of the app at at least one site."""
    if user.is_active and user.is_superuser:
        return True
    start = f"{app_label}."
    return any(p.startswith(start) for permissions in permissions_by_site(user).values() for p in permissions)


def sites_where(user: Visitor, *any_of: str) -> list[uuid.UUID]:
    """Return the sites at which the user has one of the permissions or, if none are named, holds a role."""
    by_site = permissions_by_site(user)
    return [site for site in by_site if not any_of or contains_any(by_site[site], *any_of)]


_ROLES_HELD_AT_SITE = """
WITH RECURSIVE giving(id) AS (
    SELECT id FROM accounts_role WHERE site_id = %s AND NOT is_archived
    UNION
    SELECT m.member_role_id FROM accounts_rolemembership m JOIN giving ON m.role_id = giving.id
      JOIN accounts_role r ON r.id = m.member_role_id
     WHERE m.member_role_id IS NOT NULL AND NOT r.is_archived
) SELECT id FROM giving
"""
"""A query of every role whose members hold a role of the site."""


def accounts_at(site_id: uuid.UUID) -> QuerySet[User]:
    """Return the active accounts that hold a role at the site, directly or through other roles, ordered by name."""
    roles = RawSQL(_ROLES_HELD_AT_SITE, (parameter(site_id),))  # noqa: S611 (no outside text)
    return User.objects.filter(is_active=True, memberships__role__in=roles).distinct()


def holds_role_at(user_id: uuid.UUID, site_id: uuid.UUID) -> bool:
    """Return whether the active account holds any role at the site, so that it is valid there (DECISIONS 2.6)."""
    return User.objects.filter(pk=user_id, is_active=True).exists() and site_id in roles_held(user_id)
