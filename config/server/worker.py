"""The worker: one poller reads whole requests and sends answers; threads only compute the answers (DECISIONS 10.1).

gunicorn's own threaded worker uses a thread for each connection that it reads, so that a few slow clients can block the
service. Here a thread gets a request when its body is complete, and is free again when the answer is computed, however
slowly the client reads it. The poller itself answers `/healthz`, without waiting for a thread.
"""

import errno
import logging
import resource
import selectors
import socket
import time
from contextlib import suppress
from functools import partial

from gunicorn import glogging
from gunicorn.workers.gthread import ThreadWorker

from config.metrics import note_server
from config.server import listeners, refusals
from config.server.answering import Answer
from config.server.board import FREE, board
from config.server.connection import Connection, State
from config.server.incoming import BodyTooLargeError
from config.server.refusals import Refusal
from config.server.threads import Task, Threads

logger = logging.getLogger("larder.server")

ANSWERED_BY_POLLER = frozenset({"/healthz", "/healthz/"})
ANSWERED_APART = ("/openapi.",)
"""Beginnings of paths that anybody may request and whose answers are large.

They have a queue of their own, so that a thousand callers of them do not delay anybody who reads records.
"""
QUEUE_SECONDS = 15.0
"""How long a request waits for a free thread."""
HEAD_START = 0.005
"""How many seconds a worker leaves a new connection to another worker that has one connection less."""
MOST_HEAD_STARTS = 16
"""How many times HEAD_START it waits for a worker that has four or more connections less, and may be stuck."""
ACCEPTED_AT_ONCE = 32
HANDSHAKE_SECONDS = 0.25
"""How long connections that have begun may take to be complete when the server stops."""
STOP_IDLE_SECONDS = 2.0
"""How long a stopping worker keeps connections without any traffic."""
RELOAD_PATIENCE = 60.0
"""How long old workers continue while new ones load the code, which takes time on a busy machine."""
DESCRIPTORS = 16_384
SWEEP_EVERY = 0.5
NOTIFY_EVERY = 1.0
"""How often a worker tells the master that it is alive."""


class Logger(glogging.Logger):
    """gunicorn's log without its lines about requests, which it would compose for every request and write nowhere."""

    access_log_enabled = False


class Worker(ThreadWorker):
    """Serves requests with a poller and threads."""

    def init_process(self) -> None:
        """Raise the limit of open files to what connections, bodies and answers may need, and start."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        soft = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.connections: set[Connection] = set()
        self.sockets: list[socket.socket]
        # Each connection may hold a socket and two files.
        self.most_connections = min(self.cfg.worker_connections, max(16, (soft - 128) // 3))
        self.start_time = time.monotonic()
        self.resume_at = self.head_start_since = self.sweep_at = self.notify_at = 0.0
        self.is_stopping = False
        self.apart = Threads(1, "apart")
        super().init_process()

    def get_thread_pool(self) -> Threads:
        """Return the threads that compute the answers (called by gunicorn)."""
        return Threads(self.cfg.threads, "answers")

    # --- The loop ---------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until a signal ends it, then finish the requests that have started."""
        self.poller.register(self.method_queue.fileno(), selectors.EVENT_READ, self.method_queue.run_callbacks)
        self.set_accept_enabled(True)
        self.note_count()
        while self.alive or board.successors_are_loading(self.age, self.start_time, self.cfg.workers, RELOAD_PATIENCE):
            self.turn()
            if not self.is_parent_alive():
                break
        self.stop()

    def turn(self) -> None:
        """Wait for events once and handle them."""
        now = time.monotonic()
        if now >= self.notify_at:
            self.notify()
            self.notify_at = now + NOTIFY_EVERY
        accepts_again = bool(self.resume_at) and now >= self.resume_at
        if accepts_again:
            self.resume_at = 0.0
            self.set_accept_enabled(True)
        due_at = min(self.sweep_at, self.resume_at or self.sweep_at)
        ready = self.poller.select(max(0.0, due_at - now))
        if accepts_again and not any(key.fileobj in self.sockets for key, _ in ready):
            # Another worker has accepted what waited.
            self.head_start_since = 0.0
        for key, events in ready:
            if isinstance(key.data, Connection):
                self.on_event(key.data, events)
            else:
                key.data(key.fileobj)
        if time.monotonic() >= self.sweep_at:
            self.sweep()
            self.sweep_at = time.monotonic() + SWEEP_EVERY

    def stop(self) -> None:
        """Accept the connections that have begun, close the listeners, and finish every request (DECISIONS 10.1).

        The last worker keeps its listeners open for a moment in which the kernel ignores new connections, because those
        in the queue of a listener would be reset when it is closed.
        """
        self.is_stopping = True
        board.set_count(self.age, FREE)
        start = now = time.monotonic()
        is_last = board.fewest_of_others(self.age) is None
        ignores_new = is_last and all(listeners.ignore_new(listener) for listener in self.sockets)
        closes_at = start + (HANDSHAKE_SECONDS if ignores_new else 0)
        while (self.connections or self.sockets) and now < start + self.cfg.graceful_timeout:
            if now >= closes_at:
                self.close_listeners()
            for connection in self.connections:
                if connection.idle:
                    connection.deadline = min(connection.deadline, start + STOP_IDLE_SECONDS)
            if self.connections or self.sockets:
                self.turn()
            now = time.monotonic()
        for connection in list(self.connections):
            self.drop(connection)
        self.poller.close()
        self.method_queue.close()

    def close_listeners(self) -> None:
        """Accept what waits, and take no more connections."""
        self.resume_at = 0.0
        self.set_accept_enabled(False)
        for listener in self.sockets:
            while self.accept_one(listener):
                pass
            listener.close()
        self.sockets = []

    def sweep(self) -> None:
        """End what has waited too long, and record how busy the process is."""
        now = time.monotonic()
        if not self.is_stopping:
            for listener in self.sockets:
                listeners.heed_new(listener)
        started_tasks = [
            (connection, connection.task)
            for connection in self.connections
            if connection.state is State.ANSWERING and connection.task is not None
        ]
        busy = sum(task.is_taken and not task.is_done for _, task in started_tasks)
        waiting_count = sum(not task.is_taken for _, task in started_tasks)
        note_server(threads=self.cfg.threads, busy=busy, waiting=waiting_count, connections=len(self.connections))
        for connection, task in started_tasks:
            if task.is_done:
                self.on_answered(connection, task)
        for connection in [connection for connection in self.connections if connection.deadline <= now]:
            if connection.state is State.ANSWERING:
                if connection.task is not None and connection.task.cancel():
                    self.refuse(connection, refusals.TOO_BUSY)
                else:
                    connection.deadline = float("inf")
            elif connection.state is State.READING and not connection.idle:
                self.refuse(connection, refusals.TOO_SLOW)
            else:
                self.drop(connection)

    # --- Accepting --------------------------------------------------------------------------------------------------

    def accept(self, listener: socket.socket) -> None:
        """Accept new connections, so that each worker gets its share.

        All workers are notified of a new connection. A worker with more connections than another one first waits a
        moment, longer for a larger difference, so that the other one can accept it. If the connection is still waiting
        then, this worker accepts it, since the other one may be busy.
        """
        for _ in range(ACCEPTED_AT_ONCE):
            surplus, now = self.surplus(), time.monotonic()
            self.head_start_since = (self.head_start_since or now) if surplus else 0.0
            if now < self.head_start_since + min(surplus**2, MOST_HEAD_STARTS) * HEAD_START:
                self.pause_accepting(HEAD_START)
                return
            if not self.accept_one(listener):
                break
        self.head_start_since = 0.0

    def surplus(self) -> int:
        """Return how many more connections this worker has than the one with the fewest; an eighth more is ignored."""
        own_count = len(self.connections)
        fewest_count = board.fewest_of_others(self.age)
        return 0 if fewest_count is None else max(0, own_count - fewest_count - own_count // 8)

    def accept_one(self, listener: socket.socket) -> bool:
        """Accept one connection; False if none is waiting."""
        if len(self.connections) >= self.most_connections:
            self.drop_idlest()
        try:
            client, peer = listener.accept()
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EWOULDBLOCK):
                return False
            if error.errno == errno.ECONNABORTED:
                return True
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                self.drop_idlest()
            # Linux also reports here what happened to the network or to a connection that was still waiting.
            self.pause_accepting(0.1)
            return False
        if client.family != socket.AF_UNIX:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(client, peer, listener.getsockname())
        self.connections.add(connection)
        self.note_count()
        self.watch(connection, selectors.EVENT_READ)
        return True

    def pause_accepting(self, seconds: float) -> None:
        """Accept no connections for this many seconds."""
        if self._accepting:
            self.set_accept_enabled(False)
            self.resume_at = time.monotonic() + seconds

    def drop_idlest(self) -> None:
        """Make room: close the connection that has waited longest without a complete request."""
        waiting_connections = [connection for connection in self.connections if connection.state is not State.ANSWERING]
        if waiting_connections:
            self.drop(min(waiting_connections, key=lambda connection: (not connection.idle, connection.since)))

    def note_count(self) -> None:
        """Tell the other workers how many connections this one has, as long as it takes any."""
        if not self.is_stopping:
            board.set_count(self.age, len(self.connections))

    # --- One connection ---------------------------------------------------------------------------------------------

    def on_event(self, connection: Connection, events: int) -> None:
        """Handle a connection that can be read or written."""
        if connection not in self.connections or not self.may_go_on(connection):
            return
        try:
            if connection.state is State.READING:
                if connection.receive():
                    self.read_on(connection)
                else:
                    self.drop(connection)
            elif connection.state is State.SENDING:
                self.send_on(connection)
            elif connection.state is State.LINGERING and not connection.discard():
                self.drop(connection)
        except OSError:
            self.drop(connection)
        except Exception:
            # One connection must not end the process, and with it all the others.
            logger.exception("A connection could not be served.")
            self.drop(connection)

    def may_go_on(self, connection: Connection) -> bool:
        """Return whether an event can be handled now: not while the connection's request is being answered."""
        if connection.state is not State.ANSWERING:
            return True
        if connection.task is not None and connection.task.is_done:
            self.on_answered(connection, connection.task)
            return bool(connection.events)
        # The client sends more or has closed; both can wait.
        self.watch(connection, 0)
        if connection.task is not None and connection.task.is_done:
            # Its thread ended just now, and may have left the rest to the event that is ignored here.
            self.method_queue.defer(self.on_answered, connection, connection.task)
        return False

    def read_on(self, connection: Connection) -> None:
        """Pass the request on when it is complete, or refuse what cannot be a request."""
        try:
            if not connection.is_complete():
                if connection.body is not None and connection.body.is_paused:
                    self.let_others_go_first(connection)
                return
        except Exception as error:
            if not isinstance(error, (OSError, BodyTooLargeError, *refusals.UNREADABLE)):
                logger.exception("A request could not be read.")
            self.refuse(connection, refusals.refusal_of(error))
            return
        connection.state = State.ANSWERING
        connection.since = time.monotonic()
        connection.deadline = connection.since + QUEUE_SECONDS
        if connection.path in ANSWERED_BY_POLLER:
            self.finish(connection, self.handle(connection))
            return
        threads = self.apart if connection.path.startswith(ANSWERED_APART) else self.tpool
        connection.task = Task(partial(self.handle, connection), partial(self.after_answer, connection))
        threads.submit(connection.task)

    def handle(self, connection: Connection) -> bool:
        """Answer a complete request; return whether the connection is kept alive. Runs in a thread."""
        head, body = connection.head, connection.body
        assert head is not None  # noqa: S101 (a connection is handed over with its request)
        assert body is not None  # noqa: S101
        answer = Answer(head, connection.sock, may_keep=self.alive)
        try:
            return answer.by(self.wsgi, body.rewind())
        except OSError:
            connection.sock.broken = True
        except Exception as error:
            logger.exception("A request could not be answered.", exc_info=error)
            connection.sock.broken = answer.is_begun
            if not answer.is_begun:
                with suppress(OSError):
                    connection.sock.sendall(refusals.answer(connection.path, refusals.FAULT, connection.languages))
        return False

    def after_answer(self, connection: Connection, task: Task) -> None:
        """Wake the poller after an answer, unless nothing is left to do before the client's next request wakes it.

        Runs in the thread. Until that request, or the next sweep, its request still counts as being answered.
        """
        is_all = task.keep and not connection.sock.remaining and not connection.buffer
        if not (is_all and connection.events and self.alive):
            self.method_queue.defer(self.on_answered, connection, task)

    def on_answered(self, connection: Connection, task: Task) -> None:
        """Continue after a thread has computed the answer; a second call for the same answer does nothing."""
        if task is connection.task and connection in self.connections:
            self.finish(connection, task.keep)

    def finish(self, connection: Connection, keep: bool) -> None:
        """Send what is left of the answer, then keep or close the connection."""
        connection.keep = keep
        if connection.sock.broken:
            self.drop(connection)
            return
        try:
            connection.sock.flush()
            # Most answers have been sent by their thread, so that the next event is the client's next request.
            self.watch(connection, selectors.EVENT_WRITE if connection.sock.remaining else selectors.EVENT_READ)
            connection.wait_for_client()
            self.send_on(connection)
        except OSError:
            self.drop(connection)

    def send_on(self, connection: Connection) -> None:
        """Send as much as the client takes; continue with its next request when everything is sent.

        A client may send many requests at once. Other clients have their turn between two of them, and no more requests
        are read until those that have arrived are answered.
        """
        connection.sock.flush()
        if connection.sock.remaining:
            return
        if not connection.keep:
            self.watch(connection, selectors.EVENT_READ)
            connection.linger()
            return
        connection.next_request(self.cfg.keepalive if self.alive else STOP_IDLE_SECONDS)
        if connection.buffer:
            self.let_others_go_first(connection)
        else:
            self.watch(connection, selectors.EVENT_READ)

    def let_others_go_first(self, connection: Connection) -> None:
        """Continue later with the bytes that have arrived, and read no more until then."""
        self.watch(connection, 0)
        self.method_queue.defer(self.go_on, connection)

    def go_on(self, connection: Connection) -> None:
        """Continue with the bytes that have arrived."""
        if connection not in self.connections:
            return
        try:
            self.watch(connection, selectors.EVENT_READ)
            self.read_on(connection)
        except OSError:
            self.drop(connection)

    def refuse(self, connection: Connection, refusal: Refusal) -> None:
        """Send a refusal, and close the connection when the client has read it."""
        self.watch(connection, selectors.EVENT_READ)
        try:
            connection.sock.sendall(refusals.answer(connection.path, refusal, connection.languages))
            connection.linger()
        except OSError:
            self.drop(connection)

    def drop(self, connection: Connection) -> None:
        """Close a connection."""
        self.connections.discard(connection)
        self.note_count()
        with suppress(KeyError, ValueError, OSError):
            self.watch(connection, 0)
        connection.close()

    def watch(self, connection: Connection, events: int) -> None:
        """Wait for these events of a connection, or for none; watching it in the same way again costs nothing."""
        if events == connection.events:
            return
        before, connection.events = connection.events, events
        if not events:
            self.poller.unregister(connection.socket)
        elif before:
            self.poller.modify(connection.socket, events, connection)
        else:
            self.poller.register(connection.socket, events, connection)
