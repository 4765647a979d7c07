"""What the tests of authority share: accounts that are made once for the cases of a file."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from tests.make.authority import World, make_world


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """Make the accounts, once for all cases of a file, which run within this transaction and are taken back."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_world()
        transaction.set_rollback(True)
