"""The threads that compute answers, and the tasks that they are given."""

import logging
import threading
from collections import deque
from collections.abc import Callable

logger = logging.getLogger("larder.server")


class Task:
    """The answer to one request: a thread computes it and then calls `after`, unless it is cancelled before that."""

    def __init__(self, compute: Callable[[], bool], after: Callable[["Task"], None]) -> None:
        self._compute, self._after = compute, after
        self._claim = threading.Lock()
        self.keep = False
        """What was computed: whether the connection is kept."""
        self.is_done = False

    @property
    def is_taken(self) -> bool:
        """Return whether a thread computes or has computed the answer, or it is cancelled."""
        return self._claim.locked()

    def cancel(self) -> bool:
        """Prevent a thread from beginning; return False if one has begun."""
        return self._claim.acquire(blocking=False)

    def run(self) -> None:
        """Compute the answer in this thread, unless the task is cancelled."""
        if not self._claim.acquire(blocking=False):
            return
        try:
            self.keep = self._compute()
        finally:
            self.is_done = True
            self._after(self)


class _Thread(threading.Thread):
    """A thread with the task that it is given next."""

    def __init__(self, threads: "Threads", task: Task) -> None:
        super().__init__(name=threads.name, daemon=True)
        self._threads, self._task = threads, task
        self._handover = threading.Lock()
        self._handover.acquire()

    def give(self, task: Task) -> None:
        """Let the thread, which is idle, run a task."""
        self._task = task
        self._handover.release()

    def run(self) -> None:
        """Run one task after the other."""
        task: Task | None = self._task
        while True:
            if task is not None:
                try:
                    task.run()
                except BaseException:
                    logger.exception("A request could not be answered.")
            task = self._threads.next_for(self)
            if task is None:
                self._handover.acquire()
                task = self._task


class Threads:
    """A fixed number of threads, which start when they are first needed.

    A task is given to the thread that was busy last: what it needs is still in the caches of the processor, as it is of
    its database connection's server process. `concurrent.futures` takes ten times as long to hand a task over.
    """

    def __init__(self, max_count: int, name: str) -> None:
        self.max_count, self.name = max_count, name
        self._thread_count = 0
        self._idle: list[_Thread] = []
        self._waiting_tasks: deque[Task] = deque()
        self._lock = threading.Lock()

    def submit(self, task: Task) -> None:
        """Let a thread run the task as soon as one is free."""
        with self._lock:
            thread = self._idle.pop() if self._idle else None
            if thread is None:
                if self._thread_count >= self.max_count:
                    self._waiting_tasks.append(task)
                    return
                self._thread_count += 1
        if thread is None:
            self._start(task)
        else:
            thread.give(task)

    def _start(self, task: Task) -> None:
        """Start a thread with a task, which waits for another thread if the system has none left."""
        try:
            _Thread(self, task).start()
        except (RuntimeError, MemoryError):
            logger.exception("A thread could not be started.")
            with self._lock:
                self._thread_count -= 1
                self._waiting_tasks.append(task)
                thread = self._idle.pop() if self._idle else None
                task = self._waiting_tasks.popleft() if thread else task
            if thread is not None:
                thread.give(task)

    def next_for(self, thread: _Thread) -> Task | None:
        """Return the next task that waits for a thread; without one, the thread is idle from now on."""
        with self._lock:
            if self._waiting_tasks:
                return self._waiting_tasks.popleft()
            self._idle.append(thread)
            return None

    def shutdown(self, wait: bool = False) -> None:
        """Do nothing: the threads end with the process (called by gunicorn)."""
