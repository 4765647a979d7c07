"""Fixtures: a receiver on this machine, which webhooks may lead to in these tests."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.make.webhooks import Receiver, receiving


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """Return a receiver that takes every message."""
    settings.WEBHOOK_ALLOW_PRIVATE = True
    with receiving() as server:
        yield server
