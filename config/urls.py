"""Where each endpoint starts: one include per endpoint."""

from django.contrib import admin
from django.urls import include, path

from records.operations import document, health, oauth, outside

urlpatterns = [
    path("employee/", include("records.employees.urls")),
    path("complaint/", include("records.complaints.urls")),
    path("document/", include("documents.urls")),
    path("item/", include("records.items.urls")),
    path("customer/", include("records.customers.urls")),
    path("audit/", include("records.audits.urls")),
    path("materials", include("materials.urls")),
    path("category/", include("records.category.urls")),
    path("", include("scim.urls")),
    path("oauth/token", oauth.token, name="oauth-token"),
    path("oauth/token/", oauth.token),
    path("oauth/revoke", oauth.revoke, name="oauth-revoke"),
    path("oauth/revoke/", oauth.revoke),
    path(".well-known/oauth-authorization-server", oauth.metadata, name="oauth-metadata"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("openapi.yaml", document.YamlView.as_view(), name="openapi-yaml"),
    path("openapi.json", document.JsonView.as_view(), name="openapi-json"),
    path("docs/", document.DocsView.as_view(url_name="openapi-yaml"), name="docs"),
    path("admin/", admin.site.urls),
    path("", include("records.desk.urls")),
]

handler400 = outside.bad_request
handler403 = outside.permission_denied
handler404 = outside.not_found
handler500 = outside.server_error
