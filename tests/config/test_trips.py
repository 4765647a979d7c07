"""Statements that are sent together: an error at the very end is raised, and the connection is then of no more use."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.transaction import TransactionManagementError
from psycopg.pq import ExecStatus

from records.history.statements import together

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
