"""The backend: a connection a thread, checked before use without a round trip, and bounded in the server."""

import select
from collections.abc import Callable
from typing import Any

from django.db import InterfaceError, OperationalError
from django.db.backends.postgresql import base

from config.postgresql.breaker import breaker, watchdog
from config.postgresql.limits import limits

BEYOND_THE_LIMIT = 2.0
"""Seconds that a statement may outlive the server's own limit before its connection is cut."""


class DatabaseWrapper(base.DatabaseWrapper):
    """Connects through the breaker, and asks again on a fresh connection where a read met a stale one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.execute_wrappers.append(self._watched)

    def get_connection_params(self) -> dict[str, Any]:
        """Return the parameters of a connection, with the limits of the server."""
        params = super().get_connection_params()
        if limits:
            bounds = " ".join(f"-c {name}={value}" for name, value in limits.items())
            params["options"] = f"{params.get('options', '')} {bounds}".strip()
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect; raises OperationalError at once while the database is known to be away."""
        breaker.check()
        try:
            connection = super().get_new_connection(conn_params)
        except self.Database.OperationalError:
            breaker.failed(self._connect_once)
            raise
        return connection

    def _connect_once(self) -> None:
        """Connect and close again; runs in the breaker's thread."""
        self.Database.connect(**self.get_connection_params()).close()

    def is_usable(self) -> bool:
        """Return whether the connection is open; bytes that nobody asked for announce its end."""
        connection: Any = self.connection
        if connection is None or connection.closed:
            return False
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        return not poll.poll(0)

    def _watched(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
        """Run a statement under the watchdog; a read outside a transaction that meets a lost connection runs again."""
        connection = self.connection
        seconds = limits.get("statement_timeout", 0) / 1000
        if seconds:
            watchdog.begin(connection, seconds + BEYOND_THE_LIMIT)
        was_cut = False
        try:
            return execute(sql, params, many, context)
        except (OperationalError, InterfaceError):
            was_cut = watchdog.end(connection) if seconds else False
            if was_cut:
                breaker.failed(self._connect_once)
            if was_cut or many or self.in_atomic_block or not _is_read(sql) or self.is_usable():
                raise
        finally:
            if seconds:
                watchdog.end(connection)
        self.close()
        self.connect()
        context["cursor"].cursor = self.create_cursor()
        return execute(sql, params, many, context)


def _is_read(sql: Any) -> bool:
    return isinstance(sql, str) and sql.lstrip()[:6].upper() == "SELECT"
