"""The first part of a path decides who answers it: an interface or a page.

Every new endpoint must be in one of the two lists; `records/operations/paths.py` reads both.
"""

from importlib import import_module

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path
from django.urls.resolvers import RoutePattern

from records.dashboard import redirects
from records.operations import error_handlers, health


def later(route: str, module: str) -> URLResolver:
    """Return the addresses of a module below a route; the module is loaded when a path first leads there.

    The server loads all of them in the background after its start (`config/gunicorn.py`).
    """
    return URLResolver(RoutePattern(route), module)


def openapi(request: HttpRequest, kind: str) -> HttpResponse:
    """Answer with the OpenAPI document by its view, which needs REST framework: an eighth of the start."""
    response: HttpResponse = import_module("records.operations.openapi_views").view(request, kind)
    return response


interfaces: list[URLPattern | URLResolver] = [
    later("employee/", "records.employees.urls"),
    later("complaint/", "records.complaints.urls"),
    later("document/", "documents.urls"),
    later("item/", "records.items.urls"),
    later("customer/", "records.customers.urls"),
    later("audit/", "records.audits.urls"),
    later("materials", "materials.urls"),
    later("action/", "records.actions.urls"),
    later("attachment/", "records.attachments.urls"),
    later("category/", "records.category.urls"),
    later("change/", "records.changes.urls"),
    later("calendar/", "records.reminders.urls"),
    path("", include("scim.urls")),
    later("oauth/", "records.operations.oauth"),
    later(".well-known/", "records.operations.well_known"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("openapi.yaml", openapi, {"kind": "yaml"}, name="openapi-yaml"),
    path("openapi.json", openapi, {"kind": "json"}, name="openapi-json"),
]
"""Paths for programs: without sessions, forms, messages or headers for browsers, and without middleware."""


def load() -> list[str]:
    """Load the endpoints, which register their operations and the permissions of the default roles.

    Returns the packages of those that a path can load, in their order above.
    """
    packages = []
    for interface in interfaces:
        if isinstance(interface, URLResolver):
            _ = interface.url_patterns
            packages.append(str(interface.urlconf_name).rpartition(".")[0])
    return packages


pages: list[URLPattern | URLResolver] = [
    later("docs/", "records.operations.openapi_page"),
    later("admin/", "records.backoffice.urls"),
    later("accounts/", "records.backoffice.sign_in.urls"),
    later("accounts/", "records.backoffice.passwords"),
    later("profile/", "records.dashboard.urls"),
    path("", redirects.start, name="start"),
    path("admin", redirects.with_slash),
    path("docs", redirects.with_slash),
    path("profile", redirects.with_slash),
]
"""Paths for people with a browser; they use all middleware of the settings."""

urlpatterns = [*interfaces, *pages]

handler400 = error_handlers.bad_request
handler403 = error_handlers.permission_denied
handler404 = error_handlers.not_found
handler500 = error_handlers.server_error
