"""The URLs of both mounts. Their endpoints are loaded after the start, since the models of the protocol take a second.

The server loads them in the background (`config/gunicorn.py`), and a request that comes earlier loads them itself.
"""

from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, path
from django.urls.resolvers import RoutePattern
from django.views.decorators.csrf import csrf_exempt

from scim.mounts import Mount


class Endpoints:
    """The URL configuration below one mount, which is loaded when somebody first asks for it."""

    def __init__(self, mount: Mount) -> None:
        self.mount = mount

    @cached_property
    def urlpatterns(self) -> list[URLPattern]:
        """Return the endpoints; a trailing slash is accepted everywhere."""
        from scim.endpoints import mount

        return mount(self.mount)


def below(mount: Mount) -> URLResolver:
    """Return the endpoints below a mount."""
    return URLResolver(RoutePattern(f"{mount}/"), Endpoints(mount))  # type: ignore[arg-type]


@csrf_exempt
def root(request: HttpRequest, **fixed: Any) -> HttpResponseBase:
    """Answer for the mount itself."""
    from scim.endpoints import READS, views

    return views.RootView.as_view(http_method_names=READS, **fixed)(request)


urlpatterns: list[URLPattern | URLResolver] = [
    below("scim"),
    below("prodscim"),
    path("scim", root, {"mount": "scim"}),
    path("prodscim", root, {"mount": "prodscim"}),
]
