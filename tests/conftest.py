"""Fixtures: two sites, callers of each default role, and a client that speaks JSON."""

import gc
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache, caches
from django.db import connection
from django.test import Client
from django.test.utils import override_settings
from hypothesis import settings as hypothesis_settings

from config.server import huge_pages
from records.accounts import calendar_links, keys, opening
from records.accounts.models import DefaultRole
from records.backoffice import rooms
from records.backoffice.sign_in import middleware
from records.operations import limits
from records.operations.calls import buffer as recent_calls
from records.sites.models import Site
from tests import make, migrated, reset
from tests.make.oauth import make_token
from tests.memory import folder_in_memory
from tests.shared_fixtures import SharedFixtures, shared_fixture

hypothesis_settings.register_profile("repeatable", derandomize=True)
hypothesis_settings.register_profile("searching", derandomize=False)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
"""One commit gives one answer; whoever looks for new examples asks for them with HYPOTHESIS_PROFILE=searching."""

gc.disable()  # Collecting the tests makes hundreds of thousands of objects that stay.

SHARED_FIXTURES = pytest.StashKey[SharedFixtures]()
MINUTE = timedelta(minutes=30)
"""What a minute is within a test: no test takes as long, and sessions end later."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, so that no process of the runner is left alone with one at the end."""
    gc.enable()
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> Iterator[None]:
    """Make the test database from the tables that an earlier run migrated, and let commits wait for no disk."""
    options = connection.settings_dict["OPTIONS"]
    if connection.vendor == "sqlite":
        options["init_command"] = options["init_command"].replace("synchronous=FULL", "synchronous=OFF")
    with migrated.cached_tables():
        yield


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Make the test database, and let each test that commits leave it as it was made."""
    with django_db_blocker.unblock():
        functions = reset.keep()
    rooms.load()
    # What is loaded by now stays until the end: the garbage collector would look at all of it again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)
    huge_pages.collapse()
    with reset.put_back_after_commits(functions):
        yield


@pytest.fixture(scope="session", autouse=True)
def _expected_database() -> None:
    """Fail at once where the run is not on the database that it is meant for."""
    expected = os.environ.get("EXPECTED_DATABASE_VENDOR", "")
    assert expected in ("", connection.vendor), f"This run is on {connection.vendor}, not on {expected}."


@pytest.fixture(scope="session", autouse=True)
def _own_counts(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what is counted in a folder of this process."""
    settings.CACHES["counted"]["LOCATION"] = tmp_path_factory.mktemp("counted")


@pytest.fixture(scope="session", autouse=True)
def _fast_passwords() -> Iterator[None]:
    """Hash passwords fast, also those of the people whom a fixture makes once for many tests."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(autouse=True)
def _fresh_counters() -> None:
    """Start every test with unused rate limits, no calls noted and no caller remembered."""
    cache.clear()
    caches["counted"].clear()
    recent_calls.forget()
    opening.forget()


@pytest.fixture(autouse=True)
def _one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the minute in which calls are counted and callers remembered, and after which a use is noted again, not end.

    On a busy machine a test takes longer: a limit would start anew within it, and a page would need more queries.
    """
    monkeypatch.setattr(limits, "_counter", lambda kind, who: f"{kind}:{who}")
    monkeypatch.setattr(opening, "REMEMBER_SECONDS", MINUTE.total_seconds())
    monkeypatch.setattr(middleware, "NOTED_EVERY", MINUTE.total_seconds())
    monkeypatch.setattr(keys, "LAST_USED_EVERY", MINUTE)
    monkeypatch.setattr(calendar_links, "USED_EVERY", MINUTE)


@pytest.fixture(scope="session")
def memory() -> Iterator[Path]:
    """Return a folder that lies in memory where the machine has such: each stored file is flushed to the disk."""
    with tempfile.TemporaryDirectory(prefix="larder", dir=folder_in_memory()) as name:
        yield Path(name)


@pytest.fixture(autouse=True)
def files(settings: Any, memory: Path) -> Path:
    """Keep stored files in a folder of the test's own."""
    folder = memory / uuid.uuid4().hex
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": str(folder)}
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    return folder


@pytest.fixture(scope="session")
def shared_fixtures(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any
) -> Iterator[SharedFixtures]:
    """Return the fixtures whose rows stay from one test to the next."""
    fixtures = request.session.stash[SHARED_FIXTURES] = SharedFixtures(django_db_blocker)
    yield fixtures
    fixtures.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let every module begin with an empty database, also where a fixture of its own begins a transaction."""
    if SHARED_FIXTURES in item.session.stash:
        item.session.stash[SHARED_FIXTURES].begin(item.path)


@pytest.fixture
def shared_values(request: pytest.FixtureRequest, shared_fixtures: SharedFixtures) -> dict[Any, Any]:
    """Return the values of the shared fixtures of the test, by the functions that made them."""
    return shared_fixtures.values_for(request)


@pytest.fixture
def _django_db_helper(shared_values: dict[Any, Any], _django_db_helper: None) -> None:
    """Begin the transaction of a test when the rows of the shared fixtures have been made."""


@shared_fixture
def site() -> Site:
    """Return a site with its default roles."""
    return make.make_site("Hillside Bakery")


@shared_fixture
def manager_key(site: Site) -> make.Key:
    """Return a Manager's key at the site."""
    return make.make_key(site)


@shared_fixture
def manager_token(manager_key: make.Key) -> str:
    """Return a token of the Manager."""
    return make_token(manager_key.user)


@shared_fixture
def other_site() -> Site:
    """Return another site of the organisation."""
    return make.make_site("Harbour Dairy")


class Api:
    """A client that carries a key and speaks JSON."""

    def __init__(self, key: make.Key | None = None, /, **headers: str) -> None:
        self.key = key
        self.client = Client(raise_request_exception=False)
        self.headers = {**(key.headers if key else {}), **headers}

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Any:
        """Send a GET."""
        return self.client.get(path, query or {}, headers={**self.headers, **headers})

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        """Send a POST with a JSON body."""
        return self.send("POST", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Any:
        """Send a PUT with a JSON body."""
        return self.send("PUT", path, body, **headers)

    def send(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **headers: str
    ) -> Any:
        """Send any request; a body that is not text is written as JSON."""
        import orjson

        data = body if isinstance(body, bytes | str) else b"" if body is None else orjson.dumps(body)
        return self.client.generic(method, path, data, content_type, headers={**self.headers, **headers})


@pytest.fixture
def api(manager_key: make.Key) -> Api:
    """Return a client with a Manager's key at the site."""
    return Api(manager_key)


@pytest.fixture
def api_of(site: Site) -> Callable[..., Api]:
    """Return a function that makes a client with the key of a role at a site."""
    return lambda role=DefaultRole.MANAGER, at=site: Api(make.make_key(at, role))
