"""Statements that are sent together: an error at the very end is raised, and the connection is then of no more use."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import (
    DEFAULT_DB_ALIAS,
    IntegrityError,
    NotSupportedError,
    OperationalError,
    connection,
    connections,
    transaction,
)
from django.db.transaction import TransactionManagementError
from psycopg.pq import ExecStatus

from records.history.statements import together
from records.operations.outages import UNMIGRATED, outage_of
from records.sites.models import Site
from tests.make import make_employee

pytestmark = [
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite runs in the process: nothing is sent."),
    pytest.mark.django_db(transaction=True),
]
ORPHAN = ("INSERT INTO child VALUES (%s, 99)", (1,))


@pytest.fixture(autouse=True)
def _tables() -> Iterator[None]:
    """Make two tables; the foreign key between them is checked when the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE parent (id int PRIMARY KEY)")
        cursor.execute(
            "CREATE TABLE child (id int PRIMARY KEY, of int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)"
        )
    yield
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE child, parent")


@pytest.mark.parametrize("statements", [[ORPHAN], [ORPHAN, ("SELECT 7", ())], [("SELECT 7", ()), ORPHAN]])
def test_a_write_that_fails_when_it_is_committed_raises_its_error(statements: list[Any]) -> None:
    with pytest.raises(IntegrityError):
        together(statements)
    assert together([("SELECT 42", ())]) == [[(42,)]]
    assert together([("SELECT 43", ()), ("SELECT count(*) FROM child", ())]) == [[(43,)], [(0,)]]


def test_a_write_is_stored_if_its_connection_ends_after_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    together([("SELECT 1", ())])
    trips = connection._trips  # type: ignore[attr-defined]
    send = trips._together

    def without_its_end(*parts: Any) -> Any:
        answers = yield from send(*parts)
        assert answers.pop()[0].status == ExecStatus.PIPELINE_SYNC
        return answers

    monkeypatch.setattr(trips, "_together", without_its_end)
    assert trips.send([("INSERT INTO parent VALUES (%s)", (1,))], first="BEGIN", last="COMMIT") == [[]]
    assert not connection.is_usable()
    connection.close()
    assert together([("SELECT count(*) FROM parent", ())]) == [[(1,)]]


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_transaction_whose_connection_was_lost_is_said_to_be_lost(is_lost: bool) -> None:
    def write() -> None:
        with transaction.atomic():
            together([("SELECT 1", ())])
            connection.set_rollback(True)
            if is_lost:
                connection.connection.close()
            together([("SELECT 2", ())])

    with pytest.raises(OperationalError if is_lost else TransactionManagementError):
        write()


NAMES = ("SELECT name FROM parent WHERE id = %s", (1,))


def _by_cursor() -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(*NAMES)
        return cursor.fetchall()


def _prepare_and_migrate(read: Callable[[], Any]) -> None:
    """Run a read until it is prepared, then change its column as a migration does while the service runs."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE parent ADD name varchar(10)")
        cursor.execute("INSERT INTO parent VALUES (1, 'Rye')")
    for _ in range(8):
        read()
    # The widening is made by another connection, as the migration of the next release is.
    params = {key: value for key, value in connection.get_connection_params().items() if key in _PLACE}
    with psycopg.connect(**params, autocommit=True) as migrating:
        migrating.execute("ALTER TABLE parent ALTER name TYPE varchar(20)")


_PLACE = ("dbname", "user", "password", "host", "port")
READS: dict[str, Callable[[], Any]] = {
    "alone": lambda: together([NAMES])[0],
    "with another": lambda: together([NAMES, ("SELECT 1", ())])[0],
    "by a cursor": _by_cursor,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_whose_column_a_migration_widened_is_answered(read: Callable[[], Any]) -> None:
    _prepare_and_migrate(read)
    assert read() == [("Rye",)]
    assert read() == [("Rye",)]


def test_a_transaction_that_begins_with_such_a_read_goes_on() -> None:
    _prepare_and_migrate(READS["alone"])
    with transaction.atomic():
        assert READS["alone"]() == [("Rye",)]
        together([("INSERT INTO parent VALUES (2)", ())])
    assert together([("SELECT count(*) FROM parent", ())]) == [[(2,)]]


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_transaction_in_which_such_a_read_follows_a_write_stores_nothing_and_runs_again(
    read: Callable[[], Any],
) -> None:
    _prepare_and_migrate(read)

    def write() -> None:
        with transaction.atomic():
            together([("INSERT INTO parent VALUES (2)", ())])
            read()

    used = connection.connection
    with pytest.raises(OperationalError) as error:
        write()
    assert outage_of(error.value) is UNMIGRATED
    assert together([("SELECT count(*) FROM parent", ())]) == [[(1,)]]
    write()
    assert together([("SELECT count(*) FROM parent", ())]) == [[(2,)]]
    assert connection.connection is used, "The connection need not be made anew."


def test_a_feature_that_the_database_does_not_have_is_not_taken_for_an_outdated_plan() -> None:
    with pytest.raises(NotSupportedError):
        together([("SELECT count(*) FROM parent FOR UPDATE", ())])


@pytest.mark.parametrize(("read", "from_run"), [("alone", 2), ("with another", 2), ("by a cursor", 6)])
def test_a_statement_that_is_sent_by_key_is_prepared_when_it_runs_again(read: str, from_run: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE parent ADD name varchar(10)")
    runs = []
    for _ in range(from_run):
        READS[read]()
        runs.append(_plans("SELECT name FROM parent%"))
    assert [len(plans) for plans in runs] == [0] * (from_run - 1) + [1]


def test_nothing_is_prepared_on_a_connection_that_prepares_nothing() -> None:
    connection.ensure_connection()
    connection.connection.prepare_threshold = None
    for _ in range(3):
        together([("SELECT id FROM child WHERE id = %s", (1,)), ("SELECT 1", ())])
    assert _plans("SELECT%FROM child%") == []


def test_a_statement_of_a_write_is_planned_once(site: Site) -> None:
    """PostgreSQL plans a prepared statement anew for each of its first five runs, unless it is told otherwise."""
    for _ in range(4):
        make_employee(site)
    plans = _plans("%history_chainhead%")
    assert plans
    assert {custom for _, custom in plans} == {0}
    with connection.cursor() as cursor:
        cursor.execute("SHOW plan_cache_mode")
        assert cursor.fetchone() == ("auto",)


def _plans(pattern: str) -> list[tuple[int, int]]:
    """Return how often each prepared statement like this ran with its one plan, and with a plan of its own."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE %s ORDER BY name",
            [pattern],
        )
        return cursor.fetchall()


@pytest.mark.parametrize("writes", [False, True])
def test_a_connection_is_checked_before_a_write_only(monkeypatch: pytest.MonkeyPatch, writes: bool) -> None:
    checks: list[bool] = []
    database = connections[DEFAULT_DB_ALIAS]
    monkeypatch.setattr(database, "is_usable", lambda: not checks.append(True))  # type: ignore[func-returns-value]
    monkeypatch.setattr(database, "health_check_enabled", True)
    monkeypatch.setattr(database, "health_check_done", False)
    together([("SELECT 1", ()), *([("INSERT INTO parent VALUES (%s)", (1,))] if writes else [])])
    assert checks == [True] * writes


def test_a_read_whose_connection_was_closed_meanwhile_runs_on_a_new_one() -> None:
    [[(first,)]] = together([("SELECT pg_backend_pid()", ())])
    with psycopg.connect(connection.connection.info.dsn) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [first])
    [[(second,)]] = together([("SELECT pg_backend_pid()", ())])
    assert second != first
