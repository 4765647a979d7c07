"""What keeps requests from waiting for a database that is away."""

import threading

import pytest
from django.db import OperationalError

from config.postgresql import breaker as module
from config.postgresql.breaker import Breaker


def test_requests_are_refused_at_once_until_the_breaker_itself_could_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    is_back, attempts, third = threading.Event(), [], threading.Event()

    def attempt() -> None:
        attempts.append(threading.current_thread())
        if len(attempts) == 3:
            third.set()
        if not is_back.is_set():
            raise OperationalError

    breaker = Breaker()
    breaker.check()
    breaker.failed(attempt)
    breaker.failed(attempt)
    assert third.wait(10)
    with pytest.raises(OperationalError):
        breaker.check()
    is_back.set()
    attempts[0].join(10)
    breaker.check()
    assert set(attempts) == {attempts[0]} != {threading.current_thread()}
