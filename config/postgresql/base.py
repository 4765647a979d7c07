"""The backend: one connection per thread, checked before a write without a round trip, with limits in the server."""

import datetime
import re
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg
from django.db import InterfaceError, NotSupportedError, OperationalError, transaction
from django.db.backends.postgresql import base
from django.db.backends.utils import debug_transaction
from psycopg import _queries
from psycopg.adapt import Loader
from psycopg.pq import Format, TransactionStatus

from config.postgresql.breaker import breaker_of, watchdog
from config.postgresql.limits import limits
from config.postgresql.trips import Meanwhile, Rows, Statement, Trips
from config.statements import observing

BEYOND_THE_LIMIT = 2.0
"""Seconds for which a statement may exceed the server's own limit before its connection is cut."""
FAST = 0.5
"""Seconds within which a failed attempt to connect is repeated."""
TOO_SLOW = OperationalError("a statement was not ended by the server's own time limit")

# psycopg keeps what it has parsed of its latest 128 statements, but by default of short ones only. The statement of a
# record with its child rows is longer, and a change has more parameters, so that each run would parse it again.
_queries.MAX_CACHED_STATEMENT_LENGTH = 32_768
_queries.MAX_CACHED_STATEMENT_PARAMS = 200


_LOADER: Any = psycopg.adapters.get_loader(base.TIMESTAMPTZ_OID, Format.TEXT)


class _MomentLoader(Loader):
    """Loads a time by psycopg's own loader, which is written in C and takes a third of the time of Django's."""

    timezone = datetime.UTC
    """The time zone of every connection, in which Django expects the times."""

    def __init__(self, oid: int, context: Any = None) -> None:
        super().__init__(oid, context)
        self._load = _LOADER(oid, context).load

    def load(self, data: object) -> datetime.datetime:
        """Return the time."""
        moment: datetime.datetime = self._load(data)
        return moment.replace(tzinfo=datetime.UTC)


class OutdatedPlanError(OperationalError):
    """Raised if a migration has changed the columns of a prepared statement; it is prepared anew when it runs again."""


class DatabaseWrapper(base.DatabaseWrapper):
    """Connects through the breaker, and repeats a read on a new connection if it used a stale one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.execute_wrappers += [observing, self._run_with_watchdog]
        self._own_wrappers = len(self.execute_wrappers)
        self._last_statements: Sequence[Statement] = ()
        self._on_last_answers: Callable[[list[Rows]], None] | None = None
        self._breaker = breaker_of(self.alias)
        self.patience: float | None = None
        """Seconds after which a statement's connection is cut, instead of those that follow from the server's limit."""

    def together(self, statements: Sequence[Statement], meanwhile: Meanwhile | None = None) -> list[Rows]:
        """Run independent statements in one round trip, including a pending BEGIN; returns the rows of each.

        They run in their order; after the first one that fails, none of the others runs. Reads outside a transaction
        that lose their connection run again on a new one, and the first ones of a transaction run again if their plans
        are outdated. In a transaction, `meanwhile` is called while the server executes the statements; it runs none
        itself, and returns those that follow in the same round trip.
        """
        is_repeatable = not self.in_atomic_block and all(_is_read(sql) for sql, _ in statements)
        if not is_repeatable:
            self.close_if_health_check_failed()
        self.ensure_connection()
        self.validate_no_broken_transaction()
        is_first = self._begin_is_pending()
        try:
            return self._in_one_trip(statements, meanwhile=meanwhile)
        except OutdatedPlanError:
            if meanwhile is not None or (self.in_atomic_block and not is_first):
                raise
            if self.in_atomic_block:
                self._rollback()
        except (OperationalError, InterfaceError):
            if not is_repeatable or self.is_usable():
                raise
            self.close()
            self.ensure_connection()
        return self._in_one_trip(statements)

    def validate_no_broken_transaction(self) -> None:
        """Check that statements can run; raises OperationalError if the connection was lost in the transaction."""
        if self.needs_rollback and not self.is_usable():
            raise OperationalError("the connection was lost in the transaction")
        super().validate_no_broken_transaction()

    def commit_with(
        self, statements: Sequence[Statement], on_answers: Callable[[list[Rows]], None] | None = None
    ) -> None:
        """Run statements in the same round trip as the COMMIT that ends the innermost open block.

        They run at once if that block is only a savepoint. `on_answers` is called with the rows of each statement; if
        there is a COMMIT, when everything is committed, before the on-commit hooks run.
        """
        if self.in_atomic_block and not self.savepoint_ids and self.atomic_blocks:
            self._last_statements, self._on_last_answers = statements, on_answers
            return
        rows = self.together(statements)
        if on_answers is not None:
            on_answers(rows)

    @contextmanager
    def briefly(self, milliseconds: int) -> Iterator[None]:
        """Open a transaction that waits for a lock no longer than this; raises OperationalError otherwise.

        The limit ends with the transaction, also where a pool gives the connection to somebody else afterwards.
        """
        with transaction.atomic(self.alias):
            self.together([(f"SET LOCAL lock_timeout = {milliseconds:d}", ())])
            yield

    def _set_autocommit(self, autocommit: bool) -> None:
        """Let the next statement begin a transaction, or not; between transactions psycopg has nothing to do for it."""
        connection: Any = self.connection
        if connection.info.transaction_status == TransactionStatus.IDLE:
            connection._autocommit = autocommit
        else:
            super()._set_autocommit(autocommit)  # type: ignore[misc]

    def _commit(self) -> None:
        statements, on_answers = self._last_statements, self._on_last_answers
        self._last_statements, self._on_last_answers = (), None
        if not statements:
            super()._commit()  # type: ignore[misc]
            return
        with debug_transaction(self, "COMMIT"):
            rows = self._in_one_trip(statements, last="COMMIT")
        if on_answers is not None:
            on_answers(rows)

    def _rollback(self) -> None:
        self._last_statements, self._on_last_answers = (), None
        if self.connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            # psycopg's own ROLLBACK also forgets every prepared statement, in case that a table was made anew.
            self._in_one_trip((), last="ROLLBACK")
        else:
            super()._rollback()  # type: ignore[misc]

    def init_connection_state(self) -> None:
        """Prepare a new connection."""
        super().init_connection_state()
        self._trips = Trips(self.connection)

    def _in_one_trip(
        self, statements: Sequence[Statement], *, meanwhile: Meanwhile | None = None, last: str = ""
    ) -> list[Rows]:
        """Send the statements together, after a pending BEGIN and followed by those of `meanwhile` and by `last`."""
        if self.queries_logged or len(self.execute_wrappers) > self._own_wrappers:
            self._notify_observers(statements)
        first = "BEGIN" if self._begin_is_pending() else ""
        text = "; ".join([*(sql for sql, _ in statements), *([last] if last else [])])
        connection, seconds = self.connection, self._longest()
        if seconds:
            watchdog.begin(connection, seconds)
        was_cut = False
        try:
            rows: list[Rows] = observing(
                lambda *_: self._send(statements, meanwhile=meanwhile, first=first, last=last), text, None, False, {}
            )
            return rows
        except NotSupportedError as error:
            raise self._plan_error(error) from error.__cause__
        except (OperationalError, InterfaceError):
            was_cut = bool(seconds) and watchdog.end(connection)
            if was_cut:
                self._breaker.note_failure(self._connect_once, TOO_SLOW)
            raise
        finally:
            if seconds and not was_cut:
                watchdog.end(connection)

    def _send(self, statements: Sequence[Statement], **options: Any) -> list[Rows]:
        with self.wrap_database_errors:
            return self._trips.send(statements, **options)

    def _plan_error(self, error: NotSupportedError) -> Exception:
        """Return the error of an outdated plan after forgetting all that is prepared, or any other error itself.

        PostgreSQL names the function that refuses such a plan; its code also stands for other refusals.
        """
        diagnosis = getattr(error.__cause__, "diag", None)
        if getattr(diagnosis, "source_function", None) != "RevalidateCachedQuery":
            return error
        connection: Any = self.connection
        connection._prepared.clear()
        return OutdatedPlanError(*error.args)

    def _notify_observers(self, statements: Sequence[Statement]) -> None:
        """Report each of the statements to the observers of this connection, as a cursor of Django does."""
        for sql, parameters in statements:
            execute: Callable[..., object] = _nothing
            for wrapper in reversed(self.execute_wrappers[self._own_wrappers :]):
                execute = partial(wrapper, execute)
            execute(sql, parameters, False, {"connection": self})
            if self.queries_logged:
                text = self.ops.last_executed_query(None, sql, parameters)
                self.queries_log.append({"sql": text, "time": "0"})

    def _longest(self) -> float:
        """Return after how many seconds the watchdog cuts a statement's connection; 0 for never."""
        seconds = limits.get("statement_timeout", 0) / 1000
        return self.patience or (seconds + BEYOND_THE_LIMIT if seconds else 0)

    def _begin_is_pending(self) -> bool:
        """Return whether the next statement has to be preceded by the BEGIN of a transaction."""
        connection: Any = self.connection
        return not connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE

    def get_connection_params(self) -> dict[str, object]:
        """Return the parameters of a connection, including the server's limits."""
        params = super().get_connection_params()
        if limits:
            bounds = " ".join(f"-c {name}={value}" for name, value in limits.items())
            params["options"] = f"{params.get('options', '')} {bounds}".strip()
        return params

    def get_new_connection(self, conn_params: dict[str, object]) -> Any:
        """Connect; raises OperationalError at once while the database is known to be unavailable.

        A connection that is cut while it is made proves nothing, so an attempt that fails fast is made twice.
        """
        self._breaker.check()
        start, is_first = time.monotonic(), True
        while True:
            try:
                connection = super().get_new_connection(conn_params)
                connection.adapters.register_loader(base.TIMESTAMPTZ_OID, _MomentLoader)
                return connection
            except self.Database.OperationalError as error:
                if not is_first or time.monotonic() - start > FAST:
                    self._breaker.note_failure(self._connect_once, error)
                    raise
                is_first = False

    def _connect_once(self) -> None:
        """Connect and close again; runs in the breaker's thread."""
        self.Database.connect(**self.get_connection_params()).close()

    def is_usable(self) -> bool:
        """Return whether the connection is open; unexpected bytes announce its end."""
        connection: Any = self.connection
        if connection is None or connection.closed:
            return False
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        return not poll.poll(0)

    def _run_with_watchdog(
        self, execute: Callable[..., object], sql: object, params: object, many: bool, context: dict[str, Any]
    ) -> object:
        """Run a statement under the watchdog.

        Outside a transaction it runs again if its plan is outdated, and a read does if the connection was lost.
        """
        connection = self.connection
        seconds = self._longest()
        if seconds:
            watchdog.begin(connection, seconds)
        was_cut = False
        try:
            return execute(sql, params, many, context)
        except NotSupportedError as error:
            plan_error = self._plan_error(error)
            if plan_error is error or many or self.in_atomic_block:
                raise plan_error from error.__cause__
            return execute(sql, params, many, context)
        except (OperationalError, InterfaceError):
            was_cut = watchdog.end(connection) if seconds else False
            if was_cut:
                self._breaker.note_failure(self._connect_once, TOO_SLOW)
            if was_cut or many or self.in_atomic_block or not _is_read(sql) or self.is_usable():
                raise
        finally:
            if seconds:
                watchdog.end(connection)
        self.close()
        self.ensure_connection()
        context["cursor"].cursor = self.create_cursor()
        return execute(sql, params, many, context)


def _nothing(*_: object) -> None:
    """Run no statement: it is sent with the others."""


_READS = re.compile(r"\s*(SELECT\b|WITH\b(?!.*\b(INSERT|UPDATE|DELETE|MERGE)\b))", re.IGNORECASE | re.DOTALL)


def _is_read(sql: object) -> bool:
    """Return whether a statement only reads, so that it may run again; one that begins with WITH can also write."""
    return isinstance(sql, str) and _READS.match(sql) is not None
