"""Redis as Django's cache, replaced by the memory of the process while Redis is unavailable (DECISIONS 10.3)."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

from config.memory_cache import MemoryCache

logger = logging.getLogger("larder.cache")

RETRY_SECONDS = 5.0
LOG_SECONDS = 60.0
SLOW_SECONDS = 0.1
"""An answer that takes longer is slow; one of half a second is a failure (see `config.env`)."""
SLOW_ANSWERS = 5
"""As many slow answers in a row count like a failure."""


class SlowError(RedisError):
    """Redis answers, but so slowly that it would slow every request."""


def _reliable(name: str) -> Any:
    """Return the cache's method of this name, which Redis or else the memory of the process answers."""

    def method(self: "ReliableRedisCache", *args: object, **kwargs: object) -> object:
        return self._ask(name, *args, **kwargs)

    return method


class ReliableRedisCache(RedisCache):
    """Uses Redis, and the memory of the process while Redis does not answer.

    After a failure Redis is not used for 5 seconds; then one caller tries again while the others use the memory. Redis
    counts as available again when it stores something: a replica, or a Redis without free memory, still answers reads.
    A Redis that is slow would slow every request, so five slow answers in a row count as a failure, and so does a slow
    first try. The memory's content is not carried over: counters start again, as they do when Redis itself restarts.
    """

    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._memory = MemoryCache("while redis is away", {"OPTIONS": {"MAX_ENTRIES": 100_000}})

    @property
    def is_away(self) -> bool:
        """Return whether the last attempt to reach Redis failed."""
        return _state.away

    def _ask(self, name: str, *args: object, **kwargs: object) -> object:
        if not _state.may_try():
            return getattr(self._memory, name)(*args, **kwargs)
        method: Callable[..., object] = getattr(super(), name)
        start = time.monotonic()
        try:
            if _state.away:
                super().set("trial", 1, 60)
                if time.monotonic() - start > SLOW_SECONDS:
                    raise SlowError
                _state.note_success()
            value = method(*args, **kwargs)
            _state.note_duration(start, time.monotonic())
            return value
        except RedisError as error:
            _state.note_failure(error)
            # Old connections would all fail, one after the other, when Redis is available again.
            client: Any = self._cache
            for pool in client._pools.values():
                pool.disconnect()
            return getattr(self._memory, name)(*args, **kwargs)

    add, get, set, touch, delete = map(_reliable, ("add", "get", "set", "touch", "delete"))
    get_many, has_key, incr = map(_reliable, ("get_many", "has_key", "incr"))
    set_many, delete_many = map(_reliable, ("set_many", "delete_many"))

    def clear(self) -> None:
        """Delete everything, in Redis and in memory."""
        self._memory.clear()
        self._ask("clear")


class _State:
    """Whether Redis answers; shared by all threads of the process."""

    def __init__(self) -> None:
        self.away = False
        self._slow_answers, self._slow_until = 0, 0.0
        self._next_attempt = self._next_line = 0.0
        self._lock = threading.Lock()

    def may_try(self) -> bool:
        if not self.away:
            return True
        with self._lock:
            moment = time.monotonic()
            if moment < self._next_attempt:
                return False
            self._next_attempt = moment + RETRY_SECONDS
            return True

    def note_failure(self, error: Exception) -> None:
        with self._lock:
            moment = time.monotonic()
            self.away, self._next_attempt = True, moment + RETRY_SECONDS
            self._slow_answers = 0
            if moment >= self._next_line:
                self._next_line = moment + LOG_SECONDS
                logger.warning(
                    "Redis does not answer as it should (%s). Each process counts its limits for itself until it does.",
                    type(error).__name__,
                )

    def note_duration(self, start: float, end: float) -> None:
        """Count slow answers in a row; so many of them are a failure, from the next call on.

        Of several that were slow at the same time only one counts, because one short pause of Redis delays them all.
        """
        with self._lock:
            if end - start <= SLOW_SECONDS:
                self._slow_answers = 0
            elif start >= self._slow_until:
                self._slow_answers, self._slow_until = self._slow_answers + 1, end
            is_too_slow = self._slow_answers >= SLOW_ANSWERS
        if is_too_slow:
            self.note_failure(SlowError())

    def note_success(self) -> None:
        if self.away:
            self.away = False
            logger.warning("Redis answers again.")


_state = _State()
