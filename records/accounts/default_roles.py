"""The default roles of every site, kept consistent with the operations (DECISIONS 2.5)."""

import uuid
from collections import defaultdict
from importlib import import_module

from django.conf import settings
from django.contrib.auth.models import Permission
from django.db import transaction
from django.db.models import F

from records.accounts.models import DefaultRole, Role
from records.history.english import stored_text
from records.history.sets import insertion
from records.history.statements import together
from records.sites.models import Site
from records.sites.text import fold

ORDER = (DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER, DefaultRole.SITE_ADMINISTRATOR)

_lowest: dict[str, DefaultRole] = {}


def register(permission: str, lowest: DefaultRole) -> None:
    """Register that this role and every higher one holds the permission, such as `items.add_item`."""
    current = _lowest.get(permission)
    if current is None or ORDER.index(lowest) < ORDER.index(current):
        _lowest[permission] = lowest


def lowest_with(permission: str) -> DefaultRole:
    """Return the lowest default role that holds a registered permission."""
    return _lowest[permission]


def permissions_of(role: DefaultRole) -> set[str]:
    """Return what a default role permits, as `app.codename`, from the operations and the rooms' own entries."""
    import_module(settings.ROOT_URLCONF).load()
    roles = ORDER[: ORDER.index(role) + 1]
    return {permission for permission, lowest in _lowest.items() if lowest in roles}


def bring_up_to_date(sites: list[Site] | None = None) -> None:
    """Give the sites (all, if none are named) their default roles with exactly the permissions of the operations.

    Runs after migrations and when a site is made. It writes only differences, and increments a changed role's revision.
    """
    permission_ids = {
        f"{app}.{codename}": key
        for key, app, codename in Permission.objects.order_by().values_list("pk", "content_type__app_label", "codename")
    }
    ids_of_role: dict[DefaultRole, set[int]] = {}
    for default in ORDER:
        ids_of_role[default] = {permission_ids[name] for name in permissions_of(default) if name in permission_ids}
    with transaction.atomic():
        site_list = list(Site.objects.all()) if sites is None else sites
        present_roles = {
            (role.site_id, role.default_role): role
            for role in Role.objects.filter(site__in=site_list).exclude(default_role="")
        }
        missing_roles = [
            (site, default) for site in site_list for default in ORDER if (site.pk, default.value) not in present_roles
        ]
        used_names = set(
            Role.objects.filter(site__in=[site for site, _ in missing_roles], is_archived=False).values_list(
                "site_id", "name_key"
            )
        )
        new_roles = [_new(site, default, used_names) for site, default in missing_roles]
        Role.objects.bulk_create(new_roles)
        _give([(role, DefaultRole(role.default_role)) for role in (*present_roles.values(), *new_roles)], ids_of_role)


def _give(roles: list[tuple[Role, DefaultRole]], ids_of_role: dict[DefaultRole, set[int]]) -> None:
    """Make the roles' permissions exactly the wanted ones, in a small, fixed number of statements."""
    through = Role.permissions.through
    present_ids: dict[object, set[int]] = defaultdict(set)
    for role_id, permission_id in through.objects.filter(role__in=[role.pk for role, _ in roles]).values_list(
        "role_id", "permission_id"
    ):
        present_ids[role_id].add(permission_id)
    changed_roles = [role.pk for role, default in roles if present_ids[role.pk] != ids_of_role[default]]
    for role, default in roles:
        if excess := present_ids[role.pk] - ids_of_role[default]:
            through.objects.filter(role=role, permission_id__in=excess).delete()
    new_rows = [
        (role.pk, key) for role, default in roles for key in sorted(ids_of_role[default] - present_ids[role.pk])
    ]
    if new_rows:
        together([insertion(through, {}, ("role", "permission"), new_rows)])
    Role.objects.filter(pk__in=changed_roles).update(revision=F("revision") + 1)


def _new(site: Site, default: DefaultRole, used_names: set[tuple[uuid.UUID, str]]) -> Role:
    name = stored_text(default.label)
    while (site.pk, fold(name)) in used_names:
        name += " (default)"
    return Role(site=site, name=name, name_key=fold(name), default_role=default)
