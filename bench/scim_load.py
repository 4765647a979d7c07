"""Provisioning under load, through the served product: a directory's cycle at a steady rate, and adds at once."""

import http.client
import itertools
import json
import os
import statistics
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

from django.db import connection

from records.accounts.models import Role, RoleMembership, User

RATE = float(os.environ.get("BENCH_RATE", "25"))
SECONDS = float(os.environ.get("BENCH_LOAD_SECONDS", "30"))
THREADS = 8
ADDED = 200


class Connection:
    """One kept connection of a directory."""

    def __init__(self, base: str, secret: str) -> None:
        self.client = http.client.HTTPConnection(urlsplit(base).netloc, timeout=60)
        self.headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/scim+json"}

    def send(self, method: str, path: str, body: Any = None) -> None:
        """Send a request and check that it went well."""
        data = None if body is None else json.dumps(body)
        self.client.request(method, f"/scim{path}", data, self.headers)
        answer = self.client.getresponse()
        content = answer.read()
        assert answer.status < 300, (method, path, answer.status, content[:300])


def patch(op: str, path: str, value: Any) -> dict[str, Any]:
    """Return a PATCH of one operation."""
    return {"Operations": [{"op": op, "path": path, "value": value}]}


def cycles(base: str, secret: str, role: Role) -> None:
    """Find, read, change and enrol one person after the other at a steady rate; print what was reached.

    A request that has to wait for a free connection is late by that much: the time runs from its turn on.
    """
    found = User.objects.filter(directory__isnull=False, removed__isnull=True).order_by("-pk")
    people = list(found.values_list("pk", "user_name")[:2000])

    def request(number: int) -> tuple[str, str, Any]:
        key, name = people[number // 4 % len(people)]
        if number % 4 == 0:
            wanted = quote(f'userName eq "{name}"')
            return "GET", f"/Users?filter={wanted}", None
        if number % 4 == 1:
            return "GET", f"/Users/{key}", None
        if number % 4 == 2:
            return "PATCH", f"/Users/{key}", patch("Replace", "displayName", f"Name {uuid.uuid4()}")
        return "PATCH", f"/Groups/{role.pk}", patch("Add", "members", [{"value": str(key)}])

    turns = itertools.count()
    times: list[float] = []
    started = time.perf_counter() + 0.1

    def work() -> None:
        line = Connection(base, secret)
        while (turn := next(turns)) < RATE * SECONDS:
            due = started + turn / RATE
            time.sleep(max(0.0, due - time.perf_counter()))
            line.send(*request(turn))
            times.append(time.perf_counter() - due)

    at_once([work] * THREADS)
    took = time.perf_counter() - started
    assert len(times) == round(RATE * SECONDS), "a request failed"
    ordered = sorted(times)
    print(
        f"{len(times)} requests of cycles at {RATE:.0f} a second: {len(times) / took:.1f} a second, "
        f"median {statistics.median(ordered) * 1000:.0f} ms, "
        f"95th percentile {ordered[int(len(ordered) * 0.95)] * 1000:.0f} ms, none failed",
        flush=True,
    )


def concurrent_adds(base: str, secret: str, role: Role) -> None:
    """Add members to one group from several connections at once and check that none is lost."""
    people = User.objects.filter(directory__isnull=False, removed__isnull=True).order_by("pk")
    keys = list(people.values_list("pk", flat=True)[:ADDED])
    RoleMembership.objects.filter(role=role).delete()

    def adder(mine: list[uuid.UUID]) -> Callable[[], None]:
        def work() -> None:
            line = Connection(base, secret)
            for key in mine:
                line.send("PATCH", f"/Groups/{role.pk}", patch("Add", "members", [{"value": str(key)}]))

        return work

    started = time.perf_counter()
    at_once([adder(keys[start::THREADS]) for start in range(THREADS)])
    took = time.perf_counter() - started
    count = RoleMembership.objects.filter(role=role).count()
    print(f"{ADDED} members added by {THREADS} connections: {count} there, {ADDED / took:.0f} a second", flush=True)
    assert count == ADDED


def at_once(works: list[Callable[[], None]]) -> None:
    """Run the works in threads of their own and wait for all; raises what the first failed one raised."""
    failures: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as failure:
            failures.append(failure)
        finally:
            connection.close()

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
