"""Who may do what at the current site: roles across, what they permit down, and the people who hold them."""

from collections import defaultdict
from typing import Any

from django.contrib.auth.models import Permission
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.accounts.admin.permission_matrix import COLUMNS, permission_words
from records.accounts.admin.roles import grantable
from records.accounts.default_roles import ORDER
from records.accounts.models import Role, RoleMembership
from records.backoffice.current import site_where
from records.backoffice.extension_points import menu_link
from records.backoffice.responses import page_response

PEOPLE = 500


menu_links = menu_link("rights", _("Who may do what"), "admin:rights", "accounts.view_role")


def rights(request: HttpRequest) -> HttpResponse:
    """Show the site's roles with what they permit and who holds them; a fixed number of queries."""
    site = site_where(request, "accounts.view_role")
    roles = sorted(Role.objects.at(site).filter(is_archived=False).order_by("name", "id"), key=_rank)
    through = Role.permissions.through
    permission_ids: dict[Any, set[int]] = defaultdict(set)
    for role_id, permission_id in through.objects.filter(role__in=roles).values_list("role_id", "permission_id"):
        permission_ids[role_id].add(permission_id)
    kinds: dict[Any, list[Permission]] = defaultdict(list)
    for permission in grantable():
        if permission.content_type.app_label != "reference":
            kinds[permission.content_type.model_class()].append(permission)
    lines = [
        {
            "name": capfirst(str(model._meta.verbose_name_plural)),
            "cells": [
                _abilities(model, [row for row in permissions if row.pk in permission_ids[role.pk]]) for role in roles
            ],
        }
        for model, permissions in kinds.items()
        if model is not None
    ]
    return page_response(
        request,
        "dashboard/rights.html",
        gettext("Who may do what at %(site)s") % {"site": site},
        roles=roles,
        lines=sorted(lines, key=lambda line: str(line["name"])),
        people=_people(roles, may_see_users=access.may(request.user, site, "accounts.view_user")),
        most=PEOPLE,
    )


def _abilities(model: type[Model], permissions: list[Permission]) -> dict[str, object]:
    """Return what the permissions allow with a kind of record: the common verbs, and the others in their own words."""
    words = {permission.codename: permission.name for permission in permissions}
    verbs = [verb for verb in COLUMNS if words.pop(f"{verb}_{model._meta.model_name}", None)]
    other_words = sorted(permission_words(name) for name in words.values())
    return {"verbs": ", ".join(gettext(verb) for verb in verbs).capitalize(), "others": other_words}


def _rank(role: Role) -> int:
    """Return the place of the role: default ones from the lowest up, then the site's own."""
    ranks = [str(default.value) for default in ORDER]
    return ranks.index(role.default_role) if role.default_role in ranks else len(ranks)


def _people(roles: list[Role], *, may_see_users: bool) -> list[dict[str, Any]]:
    """Return the direct members of the roles by name, each with the names of the roles; the first ones of very many."""
    lines: dict[Any, dict[str, Any]] = {}
    memberships = RoleMembership.objects.filter(role__in=roles).select_related("user", "member_role", "role")
    for entry in memberships.order_by("user__user_name", "id")[: PEOPLE * 2]:
        member: Any = entry.user or entry.member_role
        line = lines.setdefault(member.pk, {"name": str(member), "is_role": entry.user is None, "roles": []})
        if entry.user is None or may_see_users:
            line["url"] = reverse(f"admin:accounts_{member._meta.model_name}_read", args=(member.pk,))
        line["active"] = getattr(member, "is_active", True)
        line["roles"].append(str(entry.role))
    return sorted(lines.values(), key=lambda line: line["name"].casefold())[:PEOPLE]


urlpatterns = [path("rights/", rights, name="rights")]
