"""Two public conformance suites against both mounts, with a token of the RFC 7643 dialect."""

from typing import Any

import pytest
from scim2_client.engines.wsgi import WSGISCIMClient
from scim2_tester import Status, check_server
from scim2_tester.utils import ResourceManager
from scim_sanity.http_client import SCIMResponse
from scim_sanity.probe import runner

from config.wsgi import application
from records.accounts.models import Dialect
from records.operations import middleware
from tests.scim import people
from tests.scim.clients.test_collections import CONFORMANCE
from tests.scim.conftest import MOUNTS, Scim


@pytest.fixture
def _open_connection(monkeypatch):
    """Keep the test's connection open over requests that do not come from Django's own test client."""
    monkeypatch.setattr(middleware, "close_old_connections", lambda: None)


@pytest.fixture
def _deleted_once(monkeypatch):
    """Let scim2-tester delete once what it made; after each check it would try all of it again, a thousand times."""
    clean_up, deleted = ResourceManager.cleanup, set()

    def clean_up_new(manager):
        every = manager.resources
        manager.resources = [resource for resource in every if resource.id not in deleted]
        clean_up(manager)
        manager.resources = every
        deleted.update(resource.id for resource in every)

    monkeypatch.setattr(ResourceManager, "cleanup", clean_up_new)


SITE_IS_KEPT = f"'{people.SITE}': 'value' is immutable"
"""scim2-tester removes the site extension of a group, which is optional to send; a group stays at its site here."""

FAKE_MEMBER = "PATCH /Groups/{id} add member"
"""scim-sanity adds a member that does not exist; here every member has to."""


@pytest.mark.usefixtures("_open_connection", "_deleted_once")
@pytest.mark.parametrize("mount", MOUNTS)
def test_scim2_tester_finds_no_fault(mount, directory, settings):
    settings.BASE_URL = "http://localhost"
    # It deletes all that it made, which the brake on mass removal would stop.
    settings.DIRECTORY_BRAKE_PEOPLE = 1_000
    token = people.make_token(directory, Dialect.RFC)
    client = WSGISCIMClient(application, f"http://localhost{mount}", headers={"Authorization": f"Bearer {token}"})
    results = check_server(client, raise_exceptions=False)
    faults = [result for result in results if result.status in (Status.ERROR, Status.CRITICAL)]
    unexpected = [
        fault for fault in faults if fault.title != "check_remove_attribute" or SITE_IS_KEPT not in fault.reason
    ]
    assert not unexpected, "\n".join(f"{fault.title}: {fault.reason}" for fault in unexpected)
    assert {result.resource_type for result in results} >= {"User", "Group"}
    successes = [result for result in results if result.status == Status.SUCCESS]
    assert f"`{mount}`: {len(successes)} of {len(successes) + len(faults)}" in CONFORMANCE.read_text(encoding="utf-8")


class _Client:
    """scim-sanity's client, calling the application instead of the network."""

    def __init__(self, base_url: str, token: str = "", **_: Any) -> None:
        self.scim = Scim(token, base_url.removeprefix("http://localhost"))
        self.base_url = base_url

    def _send(self, method: str, path: str, body: Any = None, **_: Any) -> SCIMResponse:
        answer = self.scim.send(method, path, body)
        return SCIMResponse(answer.status_code, dict(answer.items()), answer.content.decode())

    def get(self, path: str, *_: Any, **__: Any) -> SCIMResponse:
        return self._send("GET", path)

    def post(self, path: str, payload: Any, *_: Any, **__: Any) -> SCIMResponse:
        return self._send("POST", path, payload)

    def put(self, path: str, payload: Any, *_: Any, **__: Any) -> SCIMResponse:
        return self._send("PUT", path, payload)

    def patch(self, path: str, payload: Any, *_: Any, **__: Any) -> SCIMResponse:
        return self._send("PATCH", path, payload)

    def delete(self, path: str, *_: Any, **__: Any) -> SCIMResponse:
        return self._send("DELETE", path)


@pytest.mark.parametrize("mount", MOUNTS)
def test_scim_sanity_strict_finds_no_fault_but_the_documented_one(mount, directory, settings, monkeypatch):
    settings.BASE_URL = "http://localhost"
    monkeypatch.setattr(runner, "SCIMClient", _Client)
    report = runner.run_probe_api(
        f"http://localhost{mount}", token=people.make_token(directory, Dialect.RFC), strict=True
    )
    faults = [result for result in report["results"] if result["status"] in ("fail", "error")]
    if mount == "/prodscim":
        # This mount has no PATCH, by its document; nor can its deactivation by PATCH show afterwards.
        rest = [fault for fault in faults if "405" not in fault["message"]]
        assert [fault["message"] for fault in rest] == ["Expected active=false, got True"]
    else:
        assert [fault["name"] for fault in faults] == [FAKE_MEMBER]
    count = report["summary"]["passed"]
    assert f"`{mount}`: {count} of {count + len(faults)}" in CONFORMANCE.read_text(encoding="utf-8")
