"""Both mounts from one factory: /scim, and /prodscim without PATCH."""

from django.urls import URLPattern, URLResolver, include, path, re_path

from scim import views
from scim.callers import Mount

READS = ["get", "head", "options"]


def mount(name: Mount) -> list[URLPattern]:
    """Return the endpoints of one mount; a trailing slash is accepted everywhere."""
    methods = [method for method in views.METHODS if name == "scim" or method != "patch"]
    search = ["post", "options"]

    def at(route: str, view: type[views.ProvisioningView], methods: list[str], **fixed: object) -> URLPattern:
        return re_path(route, view.as_view(mount=name, http_method_names=methods, **fixed))

    return [
        at(r"^Users/\.search/?$", views.SearchView, search, kinds=("User",)),
        at(r"^Groups/\.search/?$", views.SearchView, search, kinds=("Group",)),
        at(r"^\.search/?$", views.SearchView, search),
        at(r"^Users(?:/(?P<uuid>[^/]+))?/?$", views.UsersView, methods),
        at(r"^Groups(?:/(?P<uuid>[^/]+))?/?$", views.GroupsView, methods),
        at(r"^ServiceProviderConfigs?/?$", views.ServiceProviderConfigView, READS),
        at(r"^ResourceTypes(?:/(?P<uuid>[^/]+))?/?$", views.ResourceTypesView, READS),
        at(r"^Schemas(?:/(?P<uuid>[^/]+))?/?$", views.SchemasView, READS),
        at(r"^Me(?:/.*)?$", views.NotBuiltView, methods, what="Me"),
        at(r"^Bulk/?$", views.NotBuiltView, methods, what="Bulk"),
        at(r"^$", views.RootView, READS),
        at(r"^.*$", views.NowhereView, methods),
    ]


urlpatterns: list[URLPattern | URLResolver] = [
    path("scim/", include((mount("scim"), "scim"))),
    path("prodscim/", include((mount("prodscim"), "prodscim"))),
    path("scim", views.RootView.as_view(mount="scim", http_method_names=READS)),
    path("prodscim", views.RootView.as_view(mount="prodscim", http_method_names=READS)),
]
