"""Fixtures of the materials' tests."""

import pytest

from records.sites.models import Site
from tests.make.materials import MaterialApi, make_api


@pytest.fixture
def materials(site: Site) -> MaterialApi:
    """Return a client with a Manager's key and token at the site."""
    return make_api(site)
