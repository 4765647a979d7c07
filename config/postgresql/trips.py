"""Sends statements to PostgreSQL together, and waits once for the answers to all of them.

psycopg's pipeline waits and sends for each statement, and each of its cursors makes anew what is the same for all
statements of a connection. Both take several times as long as sending a statement and reading its rows.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from psycopg import OperationalError
from psycopg._preparing import Key, Prepare
from psycopg._queries import PostgresQuery, _query2pg_nocache
from psycopg.abc import PQGen
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute, fetch_many, send
from psycopg.pq import ExecStatus, TransactionStatus

Statement = tuple[str, Sequence[Any]]
Rows = list[tuple[Any, ...]]
Meanwhile = Callable[[], Sequence[Statement]]

_DONE = frozenset({ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.EMPTY_QUERY, ExecStatus.PIPELINE_SYNC})


class _Step(NamedTuple):
    """What is sent, and what is done with its result."""

    command: Callable[[], None]
    has_rows: bool = False
    key: Key | None = None
    """The statement, if psycopg has to know whether it was prepared or run."""
    prepare: Prepare = Prepare.NO
    name: bytes = b""


class Trips:
    """Sends the statements of one connection, and prepares those that run twice where the connection prepares any.

    psycopg's cursors wait for the sixth time, because a page sends many statements only once.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._adapter = Transformer.from_context(connection)

    def send(
        self, statements: Sequence[Statement], *, meanwhile: Meanwhile | None = None, first: str = "", last: str = ""
    ) -> list[Rows]:
        """Run the statements, between two commands without parameters if they are given; returns the rows of each.

        After the first one that fails, none of the others runs, and its error is raised. `meanwhile` is called while
        the server executes the statements; those that it returns follow. It must not use the connection.
        """
        connection = self._connection
        with connection.lock:
            connection._check_connection_ok()
            if connection._prepared._to_flush and connection.info.transaction_status != TransactionStatus.INERROR:
                connection.wait(connection._prepared.maintain_gen(connection))
            # A value that cannot be sent is noticed before any statement counts as prepared.
            queries = [self._bind(sql, parameters) for sql, parameters in statements]
            steps = [step for statement in queries for step in self._steps_of(statement)]
            if len(steps) == 1 and not (first or last or meanwhile):
                return self._rows(steps, connection.wait(self._alone(steps[0])))
            if first:
                steps.insert(0, self._command(first))
            try:
                connection.pgconn.enter_pipeline_mode()
                sent_count = 0
                if meanwhile is not None:
                    connection.wait(self._send_first(steps))
                    sent_count = len(steps)
                    steps += [step for statement in meanwhile() for step in self._steps_of(self._bind(*statement))]
                if last:
                    steps.append(self._command(last))
                answers = connection.wait(self._together(steps, sent_count))
            except BaseException:
                connection.pgconn.finish()  # Statements may be on their way, so the connection is of no use any more.
                raise
            end = answers.pop()[0] if len(answers) > len(steps) else None
            is_synced = end is not None and end.status == ExecStatus.PIPELINE_SYNC
            if is_synced:
                connection.pgconn.exit_pipeline_mode()
            else:
                connection.pgconn.finish()
            rows = self._rows(steps, answers)
            if not last and not is_synced:
                raise error_from_result(end, encoding="utf-8") if end else OperationalError("the connection was lost")
            return rows

    def _bind(self, sql: str, parameters: Sequence[object]) -> PostgresQuery | _Step:
        """Return what runs a statement that is prepared, or the statement in the form that PostgreSQL takes."""
        adapter, cache = self._adapter, self._connection._prepared
        text, formats, order, parts = _parse(sql)
        if len(parameters) == len(parts) - 1:
            values = adapter.dump_sequence(parameters, formats)
            if name := cache._names.get(key := (text, adapter.types or ())):
                cache._names.move_to_end(key)
                run = self._connection.pgconn.send_query_prepared
                return _Step(partial(run, name, values, param_formats=adapter.formats), True)
        query = PostgresQuery(adapter)
        query.query, query._want_formats, query._order, query._parts = text, formats, order, parts
        query.dump(parameters)
        return query

    def _steps_of(self, query: PostgresQuery | _Step) -> Iterator[_Step]:
        """Yield what has to be sent for a statement: what prepares it, if it ran before, and what runs it."""
        if isinstance(query, _Step):
            yield query
            return
        pgconn, cache = self._connection.pgconn, self._connection._prepared
        prepare, name = cache.get(query, cache.key(query) in cache._counts or None)
        if prepare is Prepare.SHOULD:
            command = partial(pgconn.send_prepare, name, query.query, param_types=query.types)
            yield _Step(command, key=cache.key(query), prepare=prepare, name=name)
        if prepare is Prepare.NO:
            types = {"param_types": query.types, "param_formats": query.formats}
            command = partial(pgconn.send_query_params, query.query, query.params, **types)
        else:
            command = partial(pgconn.send_query_prepared, name, query.params, param_formats=query.formats)
        yield _Step(command, True, cache.maybe_add_to_cache(query, prepare, name), prepare, name)

    def _command(self, text: str) -> _Step:
        """Return what has to be sent for a command without parameters."""
        return _Step(partial(self._connection.pgconn.send_query_params, text.encode(), None))

    def _alone(self, step: _Step) -> PQGen[list[Any]]:
        """Send a single statement, for which a pipeline would cost more than the statement itself."""
        step.command()
        return [(yield from execute(self._connection.pgconn))]

    def _send_first(self, steps: Sequence[_Step]) -> PQGen[None]:
        """Send the first part, without waiting for its results."""
        for step in steps:
            step.command()
        yield from send(self._connection.pgconn)

    def _together(self, steps: Sequence[_Step], sent_count: int) -> PQGen[list[Any]]:
        """Send all but what is sent already with one system call; returns the results as far as there are any."""
        pgconn = self._connection.pgconn
        for step in steps[sent_count:]:
            step.command()
        pgconn.pipeline_sync()
        yield from send(pgconn)
        answers: list[Any] = []
        while len(answers) <= len(steps) and (results := (yield from fetch_many(pgconn))):
            answers.append(results)
        return answers

    def _rows(self, steps: Sequence[_Step], answers: Sequence[Any]) -> list[Rows]:
        """Return the rows of each statement; raises the error of the first one that failed."""
        cache, failure = self._connection._prepared, None
        rows: list[Rows] = []
        for step, results in zip(steps, answers, strict=False):
            result = next((candidate for candidate in results if candidate.status not in _DONE), results[0])
            if result.status not in _DONE:
                failure = failure or result
            if step.key is not None and (step.has_rows or result.status not in _DONE):
                cache.validate(step.key, step.prepare, step.name, results)
            if step.has_rows and failure is None:
                rows.append(self._read(result))
        if failure is not None:
            raise error_from_result(failure, encoding="utf-8")
        if len(answers) < len(steps):
            raise OperationalError("the connection was lost")
        return rows

    def _read(self, result: Any) -> Rows:
        if result.status != ExecStatus.TUPLES_OK:
            return []
        self._adapter.set_pgresult(result)
        rows: Rows = self._adapter.load_rows(0, result.ntuples, tuple)
        self._adapter.set_pgresult(None)
        return rows


@lru_cache(1024)
def _parse(sql: str) -> Any:
    """Return a statement with PostgreSQL's placeholders, as psycopg parses it; the text itself finds it again."""
    return _query2pg_nocache(sql.encode(), "utf-8")
