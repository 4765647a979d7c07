"""Queries compiled once for each directory: only so many are kept, also if several threads need room at once."""

import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from records.accounts.models import Role
from scim import prepared
from scim.callers import Scope

THREADS = 4


class SizedCache(dict[Any, Any]):
    """A dictionary that is slow to begin an iteration, and notes how many threads do so at once."""

    inside = most = 0

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys after a while; a key that comes meanwhile would end the iteration with an error."""
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(0.05)
        self.inside -= 1
        return super().__iter__()


def test_one_thread_at_a_time_makes_room_for_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    cache, scope = SizedCache(dict.fromkeys(range(3))), Scope(uuid.uuid4(), (), "")
    monkeypatch.setattr(prepared, "_cache", cache)
    monkeypatch.setattr(prepared, "MOST_CACHED", 3)
    together = threading.Barrier(THREADS)

    def need(number: int) -> str:
        together.wait(30)
        return prepared.prepare(f"query {number}", scope, lambda: Role.objects.order_by().values_list("id")).sql

    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(need, range(THREADS)))
    assert results == [results[0]] * THREADS
    assert len(cache) == 3
    assert cache.most == 1
