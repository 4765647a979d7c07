"""The client of the generic checks, which brings what an operation's endpoint wants beside the key."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction

from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.interface.subjects import KEY_OPERATIONS
from tests.make.oauth import make_token

BY_KEY_ALONE = {viewset for _, viewset in KEY_OPERATIONS}


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


@dataclass
class Shared:
    """What the tests of a module share: two sites, and a Manager's key and token at the first of them."""

    site: Site
    other_site: Site
    key: make.Key
    token: str


@pytest.fixture(scope="module")
def made_once(django_db_setup: None, django_db_blocker: Any) -> Iterator[Shared]:
    """Make what most tests need once a module: each test runs in this transaction, and what it wrote is taken back.

    A module whose tests commit has a `site` of its own.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        site, other_site = make.make_site("Hillside Bakery"), make.make_site("Harbour Dairy")
        key = make.make_key(site)
        yield Shared(site, other_site, key, make_token(key.user))
        transaction.set_rollback(True)


@pytest.fixture
def shared(made_once: Shared, db: None) -> Shared:
    """Return copies that the test may change."""
    return deepcopy(made_once)


@pytest.fixture
def site(shared: Shared) -> Site:
    """Return a site with its default roles."""
    return shared.site


@pytest.fixture
def other_site(shared: Shared) -> Site:
    """Return another site of the organisation."""
    return shared.other_site


@pytest.fixture
def api(shared: Shared, request: pytest.FixtureRequest) -> Api:
    """Return a client with a Manager's key at the site, and with a token and the site where it wants them."""
    viewset = getattr(request.node, "callspec", None) and request.node.callspec.params.get("viewset")
    if viewset is None or viewset in BY_KEY_ALONE:
        return Api(shared.key)
    return SiteApi(shared.key, Authorization=f"Bearer {shared.token}")
