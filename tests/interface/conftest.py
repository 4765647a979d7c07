"""The client of the generic checks, which brings what a row's endpoint wants beside the key."""

from typing import Any

import pytest

from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.interface.subjects import KEY_ROWS
from tests.make.oauth import make_token

BY_KEY_ALONE = {viewset for _, viewset in KEY_ROWS}


class SiteApi(Api):
    """A client that names its site in the query, unless the path does."""

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Any:
        """Send a GET."""
        if query:
            named: dict[str, Any] = {**query, "siteId": str(self.site_id)}
            return super().get(path, named, **headers)
        return super().get(self.at(path), None, **headers)

    def send(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **headers: str
    ) -> Any:
        """Send any request."""
        return super().send(method, self.at(path), body, content_type, **headers)

    def at(self, path: str) -> str:
        """Return the path with the site."""
        if "siteId=" in path:
            return path
        return f"{path}{'&' if '?' in path else '?'}siteId={self.site_id}"

    @property
    def site_id(self) -> Any:
        """Return the key's site."""
        assert self.key is not None
        return self.key.site.pk


@pytest.fixture
def api(site: Site, request: pytest.FixtureRequest) -> Api:
    """Return a client with a Manager's key at the site, and with a token and the site where the row wants them."""
    key = make.make_key(site)
    viewset = getattr(request.node, "callspec", None) and request.node.callspec.params.get("viewset")
    if viewset is None or viewset in BY_KEY_ALONE:
        return Api(key)
    return SiteApi(key, Authorization=f"Bearer {make_token(key.user)}")
