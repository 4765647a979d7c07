"""Sends statements to PostgreSQL together, and waits once for the answers to all of them.

psycopg's pipeline waits and sends for each statement, and each of its cursors makes anew what is the same for all
statements of a connection. Both take several times as long as to send a statement and to read its rows.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from psycopg import OperationalError
from psycopg._preparing import Key, Prepare
from psycopg._queries import PostgresQuery, _query2pg_nocache
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute, fetch_many, send
from psycopg.pq import ExecStatus, TransactionStatus

Statement = tuple[str, Sequence[Any]]
Rows = list[tuple[Any, ...]]
Meanwhile = Callable[[], Sequence[Statement]]

_DONE = frozenset({ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.EMPTY_QUERY, ExecStatus.PIPELINE_SYNC})


class _Awaited(NamedTuple):
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

        After the first one that fails, none of the others runs, and its error is raised. `meanwhile` is called when the
        server works at the statements already; those that it returns follow. It must not use the connection.
        """
        connection = self._connection
        with connection.lock:
            connection._check_connection_ok()
            if connection._prepared._to_flush and connection.info.transaction_status != TransactionStatus.INERROR:
                connection.wait(connection._prepared.maintain_gen(connection))
            # A value that cannot be sent is noticed before any statement counts as prepared.
            given = [self._given(sql, parameters) for sql, parameters in statements]
            awaited = [one for statement in given for one in self._awaited(statement)]
            if len(awaited) == 1 and not (first or last or meanwhile):
                return self._rows(awaited, connection.wait(self._alone(awaited[0])))
            if first:
                awaited.insert(0, self._command(first))
            try:
                connection.pgconn.enter_pipeline_mode()
                sent = 0
                if meanwhile is not None:
                    connection.wait(self._begun(awaited))
                    sent = len(awaited)
                    awaited += [one for statement in meanwhile() for one in self._awaited(self._given(*statement))]
                if last:
                    awaited.append(self._command(last))
                answers = connection.wait(self._together(awaited, sent))
            except BaseException:
                connection.pgconn.finish()  # Statements may be on their way, so the connection is of no use any more.
                raise
            end = answers.pop()[0] if len(answers) > len(awaited) else None
            is_synced = end is not None and end.status == ExecStatus.PIPELINE_SYNC
            if is_synced:
                connection.pgconn.exit_pipeline_mode()
            else:
                connection.pgconn.finish()
            rows = self._rows(awaited, answers)
            if not last and not is_synced:
                raise error_from_result(end, encoding="utf-8") if end else OperationalError("the connection was lost")
            return rows

    def _given(self, sql: str, parameters: Sequence[object]) -> PostgresQuery | _Awaited:
        """Return what runs a statement that is prepared, or the statement in the form that PostgreSQL takes."""
        adapter, known = self._adapter, self._connection._prepared
        text, formats, order, parts = _parsed(sql)
        if len(parameters) == len(parts) - 1:
            given = adapter.dump_sequence(parameters, formats)
            if name := known._names.get(key := (text, adapter.types or ())):
                known._names.move_to_end(key)
                run = self._connection.pgconn.send_query_prepared
                return _Awaited(partial(run, name, given, param_formats=adapter.formats), True)
        query = PostgresQuery(adapter)
        query.query, query._want_formats, query._order, query._parts = text, formats, order, parts
        query.dump(parameters)
        return query

    def _awaited(self, query: PostgresQuery | _Awaited) -> Iterator[_Awaited]:
        """Yield what has to be sent for a statement: what prepares it, if it ran before, and what runs it."""
        if isinstance(query, _Awaited):
            yield query
            return
        pgconn, known = self._connection.pgconn, self._connection._prepared
        prepare, name = known.get(query, known.key(query) in known._counts or None)
        if prepare is Prepare.SHOULD:
            command = partial(pgconn.send_prepare, name, query.query, param_types=query.types)
            yield _Awaited(command, key=known.key(query), prepare=prepare, name=name)
        if prepare is Prepare.NO:
            types = {"param_types": query.types, "param_formats": query.formats}
            command = partial(pgconn.send_query_params, query.query, query.params, **types)
        else:
            command = partial(pgconn.send_query_prepared, name, query.params, param_formats=query.formats)
        yield _Awaited(command, True, known.maybe_add_to_cache(query, prepare, name), prepare, name)

    def _command(self, text: str) -> _Awaited:
        """Return what has to be sent for a command without parameters."""
        return _Awaited(partial(self._connection.pgconn.send_query_params, text.encode(), None))

    def _alone(self, awaited: _Awaited) -> Any:
        """Send a single statement, for which a pipeline would cost more than the statement itself."""
        awaited.command()
        return [(yield from execute(self._connection.pgconn))]

    def _begun(self, awaited: Sequence[_Awaited]) -> Any:
        """Send the first part, without waiting for its results."""
        for one in awaited:
            one.command()
        yield from send(self._connection.pgconn)

    def _together(self, awaited: Sequence[_Awaited], sent: int) -> Any:
        """Send all but what is sent already with one system call; returns the results as far as there are any."""
        pgconn = self._connection.pgconn
        for one in awaited[sent:]:
            one.command()
        pgconn.pipeline_sync()
        yield from send(pgconn)
        answers: list[Any] = []
        while len(answers) <= len(awaited) and (results := (yield from fetch_many(pgconn))):
            answers.append(results)
        return answers

    def _rows(self, awaited: Sequence[_Awaited], answers: Sequence[Any]) -> list[Rows]:
        """Return the rows of each statement; raises the error of the first one that failed."""
        known, failed = self._connection._prepared, None
        found: list[Rows] = []
        for one, results in zip(awaited, answers, strict=False):
            result = next((each for each in results if each.status not in _DONE), results[0])
            if result.status not in _DONE:
                failed = failed or result
            if one.key is not None and (one.has_rows or result.status not in _DONE):
                known.validate(one.key, one.prepare, one.name, results)
            if one.has_rows and failed is None:
                found.append(self._read(result))
        if failed is not None:
            raise error_from_result(failed, encoding="utf-8")
        if len(answers) < len(awaited):
            raise OperationalError("the connection was lost")
        return found

    def _read(self, result: Any) -> Rows:
        if result.status != ExecStatus.TUPLES_OK:
            return []
        self._adapter.set_pgresult(result)
        rows: Rows = self._adapter.load_rows(0, result.ntuples, tuple)
        self._adapter.set_pgresult(None)
        return rows


@lru_cache(1024)
def _parsed(sql: str) -> Any:
    """Return a statement with PostgreSQL's placeholders, as psycopg parses it; the text itself finds it again."""
    return _query2pg_nocache(sql.encode(), "utf-8")
