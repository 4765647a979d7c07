"""A response being sent: the client gets as much as it takes at once, and the poller sends the rest later.

An answer is written to an outlet, which never waits. What the client does not take at once is stored: in memory up to
64 KiB per answer and for large answers up to 32 MiB in all, beyond that in an unnamed temporary file. A stored file is
sent from its place.
"""

import os
import socket
import tempfile
import threading
from collections import deque
from contextlib import suppress
from typing import IO

MEMORY_LIMIT = 64 * 1024
PIECE = 1024 * 1024


class Shared:
    """Large answers that stay in memory, up to a total limit; one that many connections wait for is stored once."""

    def __init__(self, limit: int) -> None:
        self.limit, self.size = limit, 0
        self._users: dict[int, int] = {}
        self._lock = threading.Lock()

    def take(self, data: bytes) -> bool:
        """Use an answer for one more connection; False if there is no space for it."""
        with self._lock:
            users = self._users.get(id(data), 0)
            if not users:
                if self.size + len(data) > self.limit:
                    return False
                self.size += len(data)
            self._users[id(data)] = users + 1
            return True

    def release(self, data: bytes) -> None:
        """End the use of an answer by one connection."""
        with self._lock:
            self._users[id(data)] -= 1
            if not self._users[id(data)]:
                del self._users[id(data)]
                self.size -= len(data)


shared = Shared(32 * 1024 * 1024)
"""The large answers of this process."""


class _InMemory:
    """The rest of a large answer in memory."""

    def __init__(self, data: bytes, offset: int) -> None:
        self.data, self.view = data, memoryview(data)[offset:]

    @property
    def remaining(self) -> int:
        return len(self.view)

    def close(self) -> None:
        shared.release(self.data)


class _Stretch:
    """Some bytes of a file that are still to be sent."""

    def __init__(self, descriptor: int, offset: int, remaining: int, *, owns_descriptor: bool) -> None:
        self.descriptor, self.offset, self.remaining, self.owns_descriptor = (
            descriptor,
            offset,
            remaining,
            owns_descriptor,
        )

    def close(self) -> None:
        if self.owns_descriptor:
            os.close(self.descriptor)


class Outlet:
    """The client's side of a connection as an answer sees it: `sendall` and `sendfile` that never wait.

    One thread uses it at a time: first the one that answers, and then the poller.
    """

    def __init__(self, client: socket.socket) -> None:
        self._socket = client
        self._unsent_parts: deque[bytes | _Stretch | _InMemory] = deque()
        self._in_memory = 0
        self._spool: IO[bytes] | None = None
        self.broken = False

    @property
    def remaining(self) -> int:
        """Return how many bytes the client has not taken yet."""
        return sum(len(part) if isinstance(part, bytes) else part.remaining for part in self._unsent_parts)

    def sendall(self, data: bytes) -> None:
        """Send what the client takes at once and store the rest; raises OSError (broken connection or full disk)."""
        if self.broken:
            raise BrokenPipeError
        self.flush()
        count = 0 if self._unsent_parts else self._send(data)
        if count < len(data):
            self._keep(data, count)

    def sendfile(self, file: IO[bytes], offset: int = 0, count: int = 0) -> None:
        """Send `count` bytes of a file, starting at `offset`; the file may be closed afterwards."""
        self._unsent_parts.append(_Stretch(os.dup(file.fileno()), offset, count, owns_descriptor=True))
        self.flush()

    def flush(self) -> None:
        """Send as much as the client takes now; raises OSError for a broken connection."""
        while self._unsent_parts:
            part = self._unsent_parts[0]
            if isinstance(part, bytes):
                count = self._send(part)
                self._in_memory -= count
                if count < len(part):
                    self._unsent_parts[0] = part[count:]
                    return
            elif isinstance(part, _InMemory):
                part.view = part.view[self._send(part.view) :]
                if part.remaining:
                    return
                part.close()
            elif not self._send_stretch(part):
                return
            self._unsent_parts.popleft()

    def close(self) -> None:
        """Discard the rest."""
        while self._unsent_parts:
            part = self._unsent_parts.popleft()
            if not isinstance(part, bytes):
                part.close()
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    def _send(self, data: bytes | memoryview) -> int:
        try:
            return self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            return 0

    def _send_stretch(self, part: _Stretch) -> bool:
        """Send a part of a file; return whether all of it was sent."""
        while part.remaining:
            try:
                count = os.sendfile(self._socket.fileno(), part.descriptor, part.offset, min(part.remaining, PIECE))
            except (BlockingIOError, InterruptedError):
                return False
            if count == 0:
                raise BrokenPipeError  # The file is shorter than it was, so the answer cannot be completed.
            part.offset += count
            part.remaining -= count
        part.close()
        return True

    def _keep(self, content: bytes, offset: int) -> None:
        if len(content) > MEMORY_LIMIT and self._spool is None and isinstance(content, bytes) and shared.take(content):
            self._unsent_parts.append(_InMemory(content, offset))
            return
        data = content[offset:]
        if self._spool is None and self._in_memory + len(data) <= MEMORY_LIMIT:
            self._unsent_parts.append(bytes(data))
            self._in_memory += len(data)
            return
        if self._spool is None:
            self._spool = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (closed with the outlet)
        start = self._spool.seek(0, os.SEEK_END)
        view = memoryview(data)
        while view:
            view = view[self._spool.write(view) :]
        last = self._unsent_parts[-1] if self._unsent_parts else None
        if isinstance(last, _Stretch) and not last.owns_descriptor:
            last.remaining += len(data)
        else:
            self._unsent_parts.append(_Stretch(self._spool.fileno(), start, len(data), owns_descriptor=False))


def send_now(client: socket.socket, data: bytes) -> None:
    """Send a short piece if the client takes it at once."""
    with suppress(OSError):
        client.send(data)
