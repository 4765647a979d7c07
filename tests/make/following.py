"""Six writers against a system that follows a list by time, for the suite and for the longer run among the faults."""

import itertools
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.db import OperationalError

from materials import actions
from materials.models import Material
from records.history.models import Channel
from records.history.trail import Author, recording
from tests import make
from tests.make.materials import MaterialApi

ARRAY = 60
_counter = itertools.count(1)


def follow(api: MaterialApi, seconds: float) -> tuple[set[tuple[str, str]], set[tuple[str, str]], int]:
    """Write through every door for some seconds while a poller follows; return what there is, what it saw, and polls.

    Each is a set of Id and lastModified as they are at the end: an earlier state that was overwritten need not be seen.
    """
    deadline = time.monotonic() + seconds
    writers = [
        _until(deadline, _single(api)),
        _until(deadline, _single(api)),
        _until(deadline, _array(api)),
        _until(deadline, _array(api)),
        _until(deadline, _slowly(api, Channel.BACKOFFICE, 1, 0.03)),
        _until(deadline, _slowly(api, Channel.IMPORT, 20, 0.005)),
    ]
    outcomes = make.at_once(*writers, lambda: _poll(api.again(), deadline))
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    polled, polls = outcomes[-1]
    # One more answer, since the last one was given while writers were still at work.
    polled = {**polled, **_poll(api.again(), time.monotonic() + 0.2, since=polls[-1])[0]}
    stored = {(str(one.pk), _last_modified(one)) for one in Material.objects.filter(site=api.site)}
    return stored, set(polled.items()), len(polls)


def _last_modified(material: Material) -> str:
    return f"{material.last_modified:%Y-%m-%dT%H:%M:%S}.{material.last_modified.microsecond // 1000:03d}Z"


def _until(deadline: float, act: Callable[[], None]) -> Callable[[], None]:
    def run() -> None:
        while time.monotonic() < deadline:
            act()

    return run


def _body(number: int) -> dict[str, Any]:
    """Return a new material, or every third time another name for one of the first."""
    is_known = number % 3 == 0
    return {"externalId": f"E{number % 40 if is_known else number}", "name": f"Name {number}"}


def _single(api: MaterialApi) -> Callable[[], None]:
    client = api.again()

    def act() -> None:
        _check(client.upsert(_body(next(_counter))))

    return act


def _check(answer: Any) -> None:
    """Fail unless the request was served, or waited too long for writers, as on a busy machine on SQLite."""
    assert answer.status_code == 200 or (answer.status_code == 503 and answer["Retry-After"]), answer.content


def _array(api: MaterialApi) -> Callable[[], None]:
    client = api.again()

    def act() -> None:
        _check(client.upsert([{"externalId": f"A{next(_counter)}", "name": "x"} for _ in range(ARRAY)]))

    return act


def _slowly(api: MaterialApi, channel: Channel, rows: int, pause: float) -> Callable[[], None]:
    """Return a write of several rows in one transaction that takes its time between the stamp and the end."""
    author = Author(None, "Somebody", channel)

    def act() -> None:
        with suppress(OperationalError), recording():
            for _ in range(rows):
                number = next(_counter)
                values = {"external_id": f"S{number}", "name": f"Name {number}"}
                actions.add_material(api.site.pk, values, author=author, may=lambda permission: True)
                time.sleep(pause)

    return act


def _poll(api: MaterialApi, deadline: float, since: str = "") -> tuple[dict[str, str], list[str]]:
    """Follow the list as the guide says; return the newest lastModified seen of each Id, and each X-Modified-Until."""
    polled: dict[str, str] = {}
    polls = [since] if since else []
    while time.monotonic() < deadline or len(polls) < 3:
        query = {"limit": "1000", **({"modifiedSince": polls[-1]} if polls else {})}
        path, until = api.at(**query), ""
        while path:
            answer = api.get(path)
            if answer.status_code == 503:
                _check(answer)
                continue
            assert answer.status_code == 200, answer.content
            until = until or answer["X-Modified-Until"]
            for row in answer.json():
                polled[row["id" if "id" in row else "Id"]] = row["lastModified"]
            link = answer.get("Link", "")
            path = link.partition("<")[2].partition(">")[0].partition("/materials")[2]
            path = f"/materials{path}" if path else ""
        polls.append(until)
    return polled, polls
