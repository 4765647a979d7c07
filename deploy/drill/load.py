"""Callers of the drill: they add records without a pause, remember what was acknowledged, and count what was not."""

import http.client
import json
import ssl
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit


class Caller:
    """One client of the proxy that keeps its connection and trusts the drill's certificate."""

    def __init__(self, base_url: str, headers: dict[str, str]) -> None:
        self.address = urlsplit(base_url).netloc
        self.headers = headers
        self.context = ssl._create_unverified_context()  # noqa: S323 (a certificate that the drill made)
        self.connection: http.client.HTTPSConnection | None = None

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
        """Send one request and return status, body and headers; raises OSError where no answer came."""
        data = None if body is None else json.dumps(body)
        all_headers = {"Content-Type": "application/json", **self.headers, **headers}
        try:
            if self.connection is None:
                self.connection = http.client.HTTPSConnection(self.address, timeout=60, context=self.context)
            self.connection.request(method, path, data, all_headers)
            response = self.connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection = None
            raise OSError(str(error)) from error
        kind = response.headers.get("Content-Type", "")
        return response.status, json.loads(text) if "json" in kind and text else text, dict(response.headers)


@dataclass
class Load:
    """Writers that add items until they are told to stop."""

    base_url: str
    key: str
    writers: int = 4
    items: dict[str, str] = field(default_factory=dict)
    """What was acknowledged: the Id of each item by its name."""
    refusals: list[int] = field(default_factory=list)
    """The statuses of the answers that were not a success."""
    errors: int = 0
    longest: float = 0

    def __enter__(self) -> "Load":
        """Start the writers."""
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(self.writers)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the writers and wait for them."""
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int) -> None:
        caller = Caller(self.base_url, {"Ocp-Apim-Subscription-Key": self.key})
        count = 0
        while not self._end.is_set():
            count += 1
            name = f"Drill {id(self)}-{number}-{count}"
            start = time.monotonic()
            try:
                status, body, _ = caller.call("POST", "/item/AddItem", {"Name": name}, **{"Idempotency-Key": name})
            except OSError:
                self.errors += 1
                time.sleep(0.2)
                continue
            self.longest = max(self.longest, time.monotonic() - start)
            if status == 200:
                self.items[name] = body["Id"]
            else:
                self.refusals.append(status)
                time.sleep(0.2)

    def lost_items(self) -> list[str]:
        """Return the names of acknowledged items that the service does not have any more."""
        caller = Caller(self.base_url, {"Ocp-Apim-Subscription-Key": self.key})
        return [name for name, key in self.items.items() if not _has(caller, key, name)]


def _has(caller: Caller, key: str, name: str) -> bool:
    """Return whether the item is there; an answer that says neither yes nor no is asked for again."""
    deadline = time.monotonic() + 30
    while True:
        try:
            status, body, _ = caller.call("GET", f"/item/GetItem/{key}")
        except OSError:
            status, body = 0, {}
        if status in (200, 404) or time.monotonic() > deadline:
            return status == 200 and body["Name"] == name
        time.sleep(0.2)
