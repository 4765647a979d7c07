"""The endpoints below a mount, built by one function: /scim, and /prodscim without PATCH."""

import re

from django.urls import URLPattern, re_path

from scim import discovery_views, views
from scim.calls import METHODS, ProvisioningView
from scim.mounts import Mount

READS = ["get", "head", "options"]


def any_case(name: str) -> str:
    """Return a pattern that matches the name in any case, because flags cannot be set within Django's patterns."""
    return "".join(f"[{letter.upper()}{letter.lower()}]" if letter.isalpha() else re.escape(letter) for letter in name)


def mount(mount_name: Mount) -> list[URLPattern]:
    """Return the endpoints of one mount; a trailing slash is accepted everywhere."""
    methods = [method for method in METHODS if mount_name == "scim" or method != "patch"]
    search = ["post", "options"]

    def at(
        name: str, suffix: str, view: type[ProvisioningView], methods: list[str], **initkwargs: object
    ) -> URLPattern:
        return re_path(
            f"^{any_case(name)}{suffix}/?$", view.as_view(mount=mount_name, http_method_names=methods, **initkwargs)
        )

    optional_id = "(?:/(?P<uuid>[^/]+))?"
    return [
        at("Users/.search", "", views.SearchView, search, kinds=("User",)),
        at("Groups/.search", "", views.SearchView, search, kinds=("Group",)),
        at(".search", "", views.SearchView, search),
        at("Users", optional_id, views.UsersView, methods),
        at("Groups", optional_id, views.GroupsView, methods),
        at("ServiceProviderConfig", "s?", discovery_views.ServiceProviderConfigView, READS),
        at("ResourceTypes", optional_id, discovery_views.ResourceTypesView, READS),
        at("Schemas", optional_id, discovery_views.SchemasView, READS),
        at("Me", "(?:/.*)?", views.NotImplementedView, methods, what="Me"),
        at("Bulk", "", views.BulkView, search),
        re_path("^$", views.RootView.as_view(mount=mount_name, http_method_names=READS)),
        at("", ".*", views.UnknownPathView, methods),
    ]
