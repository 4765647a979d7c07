"""The cache while Redis is away."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import AuthenticationError, OutOfMemoryError, ReadOnlyError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError

from config import cache as module
from config.cache import ReliableRedisCache


class Client:
    """A Redis client whose server can be away, or refuse to store anything."""

    def __init__(self) -> None:
        self.is_away, self.calls = True, 0
        self.refusal: RedisError = RedisConnectionError()
        self._pools: dict[int, Any] = {}

    def add(self, key: str, value: Any, timeout: float) -> bool:
        """Answer, or fail as a client does whose server is away."""
        self.calls += 1
        if self.is_away:
            raise self.refusal
        return True

    def set(self, key: str, value: Any, timeout: float) -> None:
        """Store, or fail as `add` does."""
        self.add(key, value, timeout)

    def incr(self, key: str, delta: int) -> int:
        """Fail as a client does that finds no such number."""
        raise ValueError(key)

    def get(self, key: str, default: Any) -> Any:
        """Answer: also a Redis that stores nothing can be read."""
        return default


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> tuple[ReliableRedisCache, Client]:
    monkeypatch.setattr(module, "_state", module._State())
    client = Client()
    cache = ReliableRedisCache("redis://127.0.0.1:1/0", {})
    cache.__dict__["_cache"] = client
    cache.clear = lambda: None  # type: ignore[method-assign]
    cache._memory.clear()
    return cache, client


def test_limits_are_counted_in_memory_while_redis_is_away(away: Any) -> None:
    cache, _ = away
    assert cache.add("a", 1)
    assert not cache.add("a", 1)
    assert (cache.incr("a"), cache.get("a")) == (2, 2)
    assert cache.is_away


def test_redis_that_is_away_is_asked_once_in_five_seconds_and_named_once_a_minute(
    away: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, client = away
    clock = [100.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    with caplog.at_level(logging.WARNING, "larder.cache"):
        for _ in range(12):
            for number in range(20):
                cache.add(f"a{number}", 1)
            clock[0] += 5
    assert client.calls == 12
    assert len(caplog.records) == 1


def test_redis_is_used_again_when_it_answers(away: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, client = away
    cache.add("a", 1)
    client.is_away = False
    monkeypatch.setattr(module._state, "_next_attempt", 0.0)
    assert cache.add("a", 1)
    assert not cache.is_away


def test_redis_is_used_again_although_the_counter_that_is_asked_for_first_is_missing_in_it(
    away: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, client = away
    cache.add("a", 1)
    client.is_away = False
    monkeypatch.setattr(module._state, "_next_attempt", 0.0)
    with pytest.raises(ValueError, match="a"):
        cache.incr("a")
    assert not cache.is_away


@pytest.mark.parametrize("refusal", [ReadOnlyError(), OutOfMemoryError(), AuthenticationError()])
def test_redis_that_stores_nothing_is_away_although_it_can_be_read(
    away: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, refusal: RedisError
) -> None:
    cache, client = away
    client.refusal = refusal
    clock = [100.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    with caplog.at_level(logging.WARNING, "larder.cache"):
        for number in range(12):
            assert cache.add(f"a{number}", 1)
            assert cache.get(f"a{number}") == 1
            clock[0] += 5
    assert cache.is_away
    assert [type(refusal).__name__ in record.message for record in caplog.records] == [True]


def test_redis_that_answers_slowly_five_times_in_a_row_is_away_until_it_answers_fast(
    away: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, client = away
    client.is_away = False
    clock, takes = [100.0], [0.3]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def answer(key: str, value: Any, timeout: float) -> bool:
        client.calls += 1
        clock[0] += takes[0]
        return True

    monkeypatch.setattr(client, "add", answer)
    for number in range(4):
        cache.add(f"a{number}", 1)
    assert not cache.is_away
    takes[0] = 0.01
    cache.add("fast", 1)
    takes[0] = 0.3
    for number in range(30):
        cache.add(f"b{number}", 1)
    assert (cache.is_away, client.calls) == (True, 10)
    clock[0] += 5
    cache.add("first-try", 1)
    assert (cache.is_away, client.calls) == (True, 11)
    takes[0] = 0.01
    clock[0] += 5
    assert cache.add("second-try", 1)
    assert not cache.is_away


def test_answers_that_are_slow_at_the_same_time_count_once() -> None:
    state = module._State()
    for start in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
        state.note_duration(start, 0.7)
    assert not state.away
    for number in range(1, 5):
        state.note_duration(number, number + 0.6)
    assert state.away
