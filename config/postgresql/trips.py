"""A pipeline that sends everything at once: psycopg's own waits and sends for each of its statements."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from psycopg import Pipeline
from psycopg.generators import send


class Trip(Pipeline):
    """Keeps its commands until its end, then sends all of them with one system call and reads the results."""

    def command(self, text: str) -> None:
        """Add a command without parameters and without rows, such as BEGIN."""
        self.command_queue.append(partial(self.pgconn.send_query_params, text.encode(), None))
        self.result_queue.append(None)

    def _communicate_gen(self) -> Any:
        """Send nothing after a single statement."""
        yield from ()

    def _exit_gen(self) -> Any:
        self._enqueue_sync()
        try:
            while self.command_queue:
                self.command_queue.popleft()()
        except BaseException:
            self.pgconn.finish()  # The statements before are on their way, so the connection is of no use any more.
            raise
        yield from send(self.pgconn)
        yield from self._fetch_gen(flush=False)


@contextmanager
def trip(connection: Any) -> Iterator[Trip]:
    """Send what the block executes on psycopg's connection when the block ends; raises the first statement's error."""
    connection._pipeline = found = Trip(connection)
    with connection.pipeline():
        yield found
