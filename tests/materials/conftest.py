"""Fixtures of the materials' tests."""

import pytest

from tests import make
from tests.make.materials import MaterialApi


@pytest.fixture
def materials(manager_key: make.Key, manager_token: str) -> MaterialApi:
    """Return a client with a Manager's key and token at the site."""
    return MaterialApi(manager_key, manager_token)
