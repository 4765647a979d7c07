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
    known = _lowest.get(permission)
    if known is None or ORDER.index(lowest) < ORDER.index(known):
        _lowest[permission] = lowest


def lowest_with(permission: str) -> DefaultRole:
    """Return the lowest default role that holds a registered permission."""
    return _lowest[permission]


def permissions_of(role: DefaultRole) -> set[str]:
    """Return what a default role permits, as `app.codename`, from the operations and the rooms' own entries."""
    import_module(settings.ROOT_URLCONF).load()
    reached = ORDER[: ORDER.index(role) + 1]
    return {permission for permission, lowest in _lowest.items() if lowest in reached}


def bring_up_to_date(sites: list[Site] | None = None) -> None:
    """Give the sites (all, if none are named) their default roles with exactly the permissions of the operations.

    Runs after migrations and when a site is made. It writes only differences, and increments a changed role's revision.
    """
    known = {
        f"{app}.{codename}": key
        for key, app, codename in Permission.objects.order_by().values_list("pk", "content_type__app_label", "codename")
    }
    wanted: dict[DefaultRole, set[int]] = {}
    for default in ORDER:
        wanted[default] = {known[name] for name in permissions_of(default) if name in known}
    with transaction.atomic():
        chosen = list(Site.objects.all()) if sites is None else sites
        stored = {
            (role.site_id, role.default_role): role
            for role in Role.objects.filter(site__in=chosen).exclude(default_role="")
        }
        missing = [(site, default) for site in chosen for default in ORDER if (site.pk, default.value) not in stored]
        taken = set(
            Role.objects.filter(site__in=[site for site, _ in missing], is_archived=False).values_list(
                "site_id", "name_key"
            )
        )
        made = [_new(site, default, taken) for site, default in missing]
        Role.objects.bulk_create(made)
        _give([(role, DefaultRole(role.default_role)) for role in (*stored.values(), *made)], wanted)


def _give(roles: list[tuple[Role, DefaultRole]], wanted: dict[DefaultRole, set[int]]) -> None:
    """Make the roles' permissions exactly the wanted ones, in a small, fixed number of statements."""
    through = Role.permissions.through
    permitted: dict[object, set[int]] = defaultdict(set)
    for role_id, permission_id in through.objects.filter(role__in=[role.pk for role, _ in roles]).values_list(
        "role_id", "permission_id"
    ):
        permitted[role_id].add(permission_id)
    changed = [role.pk for role, default in roles if permitted[role.pk] != wanted[default]]
    for role, default in roles:
        if gone := permitted[role.pk] - wanted[default]:
            through.objects.filter(role=role, permission_id__in=gone).delete()
    given = [(role.pk, key) for role, default in roles for key in sorted(wanted[default] - permitted[role.pk])]
    if given:
        together([insertion(through, {}, ("role", "permission"), given)])
    Role.objects.filter(pk__in=changed).update(revision=F("revision") + 1)


def _new(site: Site, default: DefaultRole, taken: set[tuple[uuid.UUID, str]]) -> Role:
    name = stored_text(default.label)
    while (site.pk, fold(name)) in taken:
        name += " (default)"
    return Role(site=site, name=name, name_key=fold(name), default_role=default)
