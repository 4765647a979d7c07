"""A real replica answers lists when it has everything, and the primary does whenever it has not."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from config.postgresql.breaker import breaker, breaker_of
from records.accounts import keys
from records.accounts.models import SubscriptionKey
from records.history import replica
from tests import make
from tests.conftest import Api
from tests.make.standby import Standby, wait_until

pytestmark = [
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no replicas."),
    pytest.mark.django_db(transaction=True, databases=["default", "replica"]),
]


@pytest.fixture(scope="module", autouse=True)
def standby(django_db_setup: None, django_db_blocker: Any) -> Iterator[Standby]:
    """Return a replica of the tests' database, which the product reads from during this module."""
    with django_db_blocker.unblock():
        server = Standby()
    connections.settings["replica"] = server.settings
    with override_settings(DATABASE_ROUTERS=["records.history.replica.Router"]):
        yield server
    with django_db_blocker.unblock():
        connections["replica"].close()
    del connections["replica"]
    del connections.settings["replica"]
    server.remove()


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the replica for longer than the product does: on a busy machine it can be silent for a second."""
    monkeypatch.setattr(replica, "PATIENCE", 30.0)


class Outcomes(logging.Handler):
    """A log handler that stores how each list was read."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Store one outcome, such as "replica" or "behind"."""
        self.outcomes.append(record.outcome)  # type: ignore[attr-defined]

    def take(self) -> list[str]:
        """Return the outcomes since the last call."""
        outcomes, self.outcomes = self.outcomes, []
        return outcomes


@pytest.fixture
def outcomes() -> Iterator[Outcomes]:
    """Return the handler that stores how the lists of this test are read."""
    handler = Outcomes()
    replica.reads.addHandler(handler)
    yield handler
    replica.reads.removeHandler(handler)


def names(answer: Any) -> list[str]:
    """Return the names of the listed items."""
    assert answer.status_code == 200, answer.content
    return [item["Name"] for item in answer.json()]


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"limit": "2"},
        {"limit": "1", "startIndex": "1"},
        {"limit": "1", "startIndex": "1", "sort": "Name", "order": "desc"},
        {"search": "scale"},
        {"search": "scale", "limit": "1", "startIndex": "1"},
        {"search": "nothing like it"},
        {"code": "b,c"},
        {"isArchived": "any", "modifiedSince": "2020-01-01"},
    ],
)
def test_the_replica_answers_what_the_primary_answers(
    api: Api, standby: Standby, outcomes: Outcomes, query: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for code in "abc":
        api.post("/item/AddItem", {"Name": f"Scale {code}", "Code": code})
    api.post("/item/AddItem", {"Name": "Thermometer"})
    standby.catch_up()
    answer = api.get("/item/GetItemList", query)
    assert outcomes.take() == ["replica"]
    monkeypatch.setattr(replica, "is_configured", lambda: False)
    expected = api.get("/item/GetItemList", query)
    assert answer.json() == expected.json()
    for name in ("X-Total-Count", "Link"):
        assert answer.headers.get(name) == expected.headers.get(name)
    assert outcomes.take() == []


def test_the_primary_does_not_search(api: Api, standby: Standby, outcomes: Outcomes) -> None:
    api.post("/item/AddItem", {"Name": "Scale"})
    standby.catch_up()
    with CaptureQueriesContext(connection) as queries:
        assert names(api.get("/item/GetItemList", {"search": "scale"})) == ["Scale"]
    assert outcomes.take() == ["replica"]
    assert [query["sql"] for query in queries if "items_item" in query["sql"]] == []


def test_whoever_wrote_reads_it_at_once_and_other_sites_stay_with_the_replica(
    api: Api, standby: Standby, outcomes: Outcomes
) -> None:
    other = Api(make.make_key(make.make_site("Harbour Dairy")))
    api.post("/item/AddItem", {"Name": "Scale"})
    standby.catch_up()
    standby.pause()
    try:
        assert names(api.get("/item/GetItemList")) == ["Scale"]
        api.post("/item/AddItem", {"Name": "Thermometer"})
        answer = api.get("/item/GetItemList")
        assert (names(answer), answer["X-Total-Count"]) == (["Scale", "Thermometer"], "2")
        assert names(other.get("/item/GetItemList")) == []
        assert outcomes.take() == ["replica", "behind", "replica"]
    finally:
        standby.go_on()
    standby.catch_up()
    assert names(api.get("/item/GetItemList")) == ["Scale", "Thermometer"]
    assert outcomes.take() == ["replica"]


def test_a_list_of_a_replica_never_promises_more_than_it_holds(api: Api, standby: Standby, outcomes: Outcomes) -> None:
    api.post("/item/AddItem", {"Name": "Scale"})
    standby.catch_up()
    until = api.get("/item/GetItemList")["X-Modified-Until"]
    api.post("/item/AddItem", {"Name": "Thermometer"})
    standby.catch_up()
    assert "Thermometer" in names(api.get("/item/GetItemList", {"modifiedSince": until}))
    assert outcomes.take() == ["replica", "replica"]


def test_a_revoked_key_ends_at_once_although_the_replica_does_not_know_it(
    api: Api, standby: Standby, outcomes: Outcomes
) -> None:
    standby.catch_up()
    assert api.get("/item/GetItemList").status_code == 200
    standby.pause()
    try:
        assert api.key is not None
        key = SubscriptionKey.objects.get(user=api.key.user)
        keys.revoke_key(key.pk, author=make.SYSTEM)
        assert api.get("/item/GetItemList").status_code == 401
    finally:
        standby.go_on()


def test_the_primary_answers_while_the_replica_is_away_or_frozen(
    api: Api, standby: Standby, outcomes: Outcomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post("/item/AddItem", {"Name": "Scale"})
    standby.catch_up()
    assert names(api.get("/item/GetItemList")) == ["Scale"]
    standby.freeze()
    with monkeypatch.context() as patch:
        patch.setattr(replica, "PATIENCE", 1.0)
        assert names(api.get("/item/GetItemList")) == ["Scale"]
    assert breaker_of("replica").is_open
    assert names(api.get("/item/GetItemList")) == ["Scale"]
    standby.stop()
    assert names(api.get("/item/GetItemList")) == ["Scale"]
    assert not breaker.is_open
    assert outcomes.take() == ["replica", "away", "away", "away"]
    standby.start()
    standby.catch_up()
    wait_until(lambda: not breaker_of("replica").is_open, "The replica is not used again.")
    assert names(api.get("/item/GetItemList")) == ["Scale"]
    assert outcomes.take() == ["replica"]


def test_a_replica_that_was_promoted_is_not_asked_any_more(api: Api, standby: Standby, outcomes: Outcomes) -> None:
    standby.catch_up()
    standby.run("SELECT pg_promote(true, 60)")
    assert names(api.get("/item/GetItemList")) == []
    assert outcomes.take() == ["behind"]
