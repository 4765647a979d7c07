"""Following a list by time for twenty seconds under six writers, three times; the suite runs a shorter one."""

from typing import Any

import pytest

from tests import make
from tests.faults.processes import allowed, notes
from tests.make.following import follow
from tests.make.materials import make_api

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("attempt", range(3))
def test_a_follower_by_time_misses_no_write_in_twenty_seconds(settings: Any, attempt: int) -> None:
    settings.RATE_LIMIT = 10**6
    api = make_api(make.make_site("Hillside Bakery"))
    stored, polled, _ = follow(api, 20)
    notes.append(f"{len(stored - polled)} of {len(stored)} missed")
    assert len(stored) > 200 / allowed(1)
    assert stored <= polled, sorted(stored - polled)
