"""The URLs of both mounts. Their endpoints are loaded after the start, since the models of the protocol take a second.

The server loads them in the background (`config/gunicorn.py`), and a request that comes earlier loads them itself.
"""

from functools import cached_property

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, path
from django.urls.resolvers import RoutePattern
from django.utils.datastructures import MultiValueDict
from django.views.decorators.csrf import csrf_exempt

from scim.mounts import Mount


class Below(URLResolver):
    """The endpoints below one mount. They have no names, so that a link to another page loads none of them."""

    reverse_dict = MultiValueDict()
    namespace_dict = {}
    app_dict = {}

    def __init__(self, mount: Mount) -> None:
        super().__init__(RoutePattern(f"{mount}/"), __name__)
        self.mount = mount

    @cached_property
    def url_patterns(self) -> list[URLPattern]:  # type: ignore[override]
        """Return the endpoints; a trailing slash is accepted everywhere."""
        from scim.endpoints import mount

        return mount(self.mount)

    def _populate(self) -> None:
        """Collect no names."""


@csrf_exempt
def root(request: HttpRequest, **initkwargs: object) -> HttpResponseBase:
    """Answer for the mount itself."""
    from scim.endpoints import READS, views

    return views.RootView.as_view(http_method_names=READS, **initkwargs)(request)


urlpatterns: list[URLPattern | URLResolver] = [
    Below("scim"),
    Below("prodscim"),
    path("scim", root, {"mount": "scim"}),
    path("prodscim", root, {"mount": "prodscim"}),
]
