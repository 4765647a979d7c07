"""The client of the generic checks, which brings what an operation's endpoint wants beside the key."""

from typing import Any

import pytest

from tests import make
from tests.conftest import Api
from tests.interface.subjects import KEY_OPERATIONS

BY_KEY_ALONE = {viewset for _, viewset in KEY_OPERATIONS}


class SiteApi(Api):
    """A client that names its site in the query, unless the path does."""

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Any:
        """Send a GET."""
        if query:
            full_query: dict[str, Any] = {**query, "siteId": str(self.site_id)}
            return super().get(path, full_query, **headers)
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
def api(manager_key: make.Key, manager_token: str, request: pytest.FixtureRequest) -> Api:
    """Return a client with a Manager's key at the site, and with a token and the site where it wants them."""
    viewset = getattr(request.node, "callspec", None) and request.node.callspec.params.get("viewset")
    if viewset is None or viewset in BY_KEY_ALONE:
        return Api(manager_key)
    return SiteApi(manager_key, Authorization=f"Bearer {manager_token}")
