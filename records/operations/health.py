"""Whether the process is alive and able to work; needs no credential and reveals nothing else (DECISIONS 13.17)."""

import tempfile
import threading
import time
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from records.operations import heartbeats, outages
from records.operations.error_handlers import refuse

ALLOW = "GET, HEAD, OPTIONS"
PARTS = ("database", "writes", "cache", "worker", "files")
REUSE_SECONDS = 2.0
"""How long an answer of `/readyz` is reused, so that frequent requests cost nothing."""
REFUSED_SECONDS = 15.0
PATIENCE_SECONDS = 2.0
"""How long a request waits while another one checks."""


def _only_get(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Let a view answer GET and HEAD; other methods except OPTIONS get the 405, not a page about an expired form."""

    @csrf_exempt
    @wraps(view)
    def answer(request: HttpRequest) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return view(request)
        if request.method == "OPTIONS":
            response = HttpResponse(status=204)
        else:
            response = refuse(request, 405, "MethodNotAllowed", "This path does not support this method.")
        response["Allow"] = ALLOW
        return response

    return answer


@_only_get
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that the process is alive."""
    return JsonResponse({"status": "ok"})


@_only_get
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer, in one word each, the state of the database, writing to it, the cache, the worker and the files.

    The first call waits until all endpoints are loaded. 503 with Retry-After only if the database is unavailable or not
    migrated; any other problem is `degraded` with 200.
    """
    import_module(settings.ROOT_URLCONF).load()
    result = _cached_state.get()
    if result["status"] != "unavailable":
        return JsonResponse(result)
    return JsonResponse(result, status=503, headers={"Retry-After": "5"})


def state() -> dict[str, str]:
    """Check everything and return one word for each, `status` first."""
    return _summary(**_in_database(), cache=_cache(), files=_files())


def _summary(**parts: str) -> dict[str, str]:
    status = "unavailable" if parts["database"] != "ok" else "ok" if set(parts.values()) == {"ok"} else "degraded"
    return {"status": status, **{name: parts.get(name, "unknown") for name in PARTS}}


_asks_database = threading.Event()


def _in_database() -> dict[str, str]:
    _asks_database.set()
    try:
        database = _database()
        return {"database": database} | ({"writes": _writes(), "worker": _worker()} if database == "ok" else {})
    finally:
        _asks_database.clear()


def _database() -> str:
    try:
        return "unmigrated" if outages.missing_migrations() else "ok"
    except Error:
        return "away"


def _writes() -> str:
    """Write a row. Gives up soon if another writer holds the database, which proves that it can be written."""
    if outages.writes_were_refused(REFUSED_SECONDS):
        return "failing"
    try:
        with connection.briefly(1_000):  # type: ignore[attr-defined]
            heartbeats.beat(heartbeats.WRITE_CHECK)
    except Error as error:
        outage = outages.outage_of(error)
        return "ok" if outage is outages.BUSY else "failing"
    return "ok"


def _cache() -> str:
    """Store something: a replica of Redis, or one without free memory, still answers reads."""
    try:
        cache.set("readyz", 1, 60)
    except Exception:
        return "away"
    return "away" if getattr(cache, "is_away", False) else "ok"


def _worker() -> str:
    try:
        return "ok" if heartbeats.living_workers() else "missing"
    except Error:
        return "unknown"


def _files() -> str:
    """Check whether files can be stored: in a folder by storing one, in a bucket by asking for one."""
    try:
        if not isinstance(default_storage, FileSystemStorage):
            default_storage.exists("readyz")
            return "ok"
        folder = Path(default_storage.location)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x" * 4096)
            file.flush()
    except Exception:
        return "failing"
    return "ok"


class _CachedState:
    """The last answer; one thread at a time renews it.

    The others do not wait long for it, so that probes do not take every thread while the database is frozen.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: dict[str, str] = {}
        self._reuse_until = 0.0

    def get(self) -> dict[str, str]:
        if not self._lock.acquire(timeout=PATIENCE_SECONDS):
            return _summary(database="away") if _asks_database.is_set() or not self._state else self._state
        try:
            if time.monotonic() >= self._reuse_until:
                self._state = state()
                self._reuse_until = time.monotonic() + REUSE_SECONDS
            return self._state
        finally:
            self._lock.release()

    def forget(self) -> None:
        """Check again at the next request."""
        self._reuse_until = 0.0


_cached_state = _CachedState()
forget = _cached_state.forget
