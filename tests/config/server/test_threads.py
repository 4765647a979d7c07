"""The threads of the server: how many there are, what waits for them, and what is cancelled."""

import threading
import time
from typing import Any

import pytest

from config.server.threads import Task, Threads

PATIENCE = 10


class Work:
    """Tasks that a test lets go on, and those that have begun and ended."""

    def __init__(self, most: int) -> None:
        self.threads = Threads(most, "test")
        self.starts: list[Any] = []
        self.ends: list[Any] = []
        self.has_begun, self.may_end, self.has_ended = (threading.Semaphore(0) for _ in range(3))

    def add(self, name: str, *, keep: bool = True) -> Task:
        """Let a thread run a task, which records the name and the thread."""

        def compute() -> bool:
            self.starts.append((name, threading.current_thread()))
            self.has_begun.release()
            assert self.may_end.acquire(timeout=PATIENCE)
            return keep

        def after(task: Task) -> None:
            self.ends.append((name, task.keep, task.is_done))
            self.has_ended.release()

        task = Task(compute, after)
        self.threads.submit(task)
        return task

    def end(self) -> None:
        """Let one task end, and wait until it has."""
        self.may_end.release()
        assert self.has_ended.acquire(timeout=PATIENCE)

    def await_begin(self) -> None:
        """Wait until one more task has begun."""
        assert self.has_begun.acquire(timeout=PATIENCE)


def test_what_exceeds_the_threads_waits_for_one_of_them_in_its_order() -> None:
    work = Work(2)
    tasks = [work.add(name) for name in "abcd"]
    work.await_begin()
    work.await_begin()
    assert [task.is_taken for task in tasks] == [True, True, False, False]
    for _ in range(4):
        work.end()
    assert sorted(name for name, _ in work.starts[:2]) == ["a", "b"]
    assert [name for name, _ in work.starts[2:]] == ["c", "d"]
    assert len({thread for _, thread in work.starts}) == 2
    assert [(keep, is_done) for _, keep, is_done in work.ends] == [(True, True)] * 4


def test_a_task_is_given_to_the_thread_that_was_busy_last() -> None:
    work = Work(2)
    work.add("a")
    work.await_begin()
    work.add("b")
    work.await_begin()
    for _ in range(2):
        work.end()
    await_idle(work.threads, 2)
    last = work.threads._idle[-1]
    for name in "cd":
        work.add(name)
        work.end()
        await_idle(work.threads, 2)
    assert [thread for _, thread in work.starts[2:]] == [last, last]


def await_idle(threads: Threads, count: int) -> None:
    """Wait until so many threads have nothing to do."""
    for _ in range(PATIENCE * 1000):
        if len(threads._idle) == count:
            return
        time.sleep(0.001)
    raise AssertionError("The threads are still busy.")


def test_a_cancelled_task_is_not_run_and_a_begun_one_cannot_be_cancelled() -> None:
    work = Work(1)
    first, second, third = (work.add(name) for name in "abc")
    work.await_begin()
    assert not first.cancel()
    assert second.cancel()
    work.end()
    work.end()
    assert [name for name, _ in work.starts] == ["a", "c"]
    assert (third.is_done, second.is_done) == (True, False)


@pytest.mark.filterwarnings("error")
def test_a_thread_outlives_whatever_its_task_raises(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(1)

    def fail() -> bool:
        raise SystemExit

    ends: list[Task] = []
    work.threads.submit(Task(fail, ends.append))
    work.add("b")
    work.end()
    assert [(task.is_done, task.keep) for task in ends] == [(True, False)]
    assert [name for name, _ in work.starts] == ["b"]
    assert [record.getMessage() for record in caplog.records] == ["A request could not be answered."]


def test_a_thread_that_cannot_be_started_now_is_started_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    work = Work(2)
    start = threading.Thread.start
    failures = [RuntimeError("can't start new thread")] * 3

    def start_or_fail(thread: threading.Thread) -> None:
        if failures:
            raise failures.pop()
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_or_fail)
    for name in "abcde":
        work.add(name)
    assert len(caplog.records) == 3
    for _ in "abcde":
        work.end()
    assert sorted(name for name, _, _ in work.ends) == list("abcde")


def test_a_task_whose_thread_cannot_be_started_is_run_by_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(2)
    work.add("a")
    work.await_begin()

    def end_and_fail(thread: threading.Thread) -> None:
        work.end()
        await_idle(work.threads, 1)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", end_and_fail)
    work.add("b")
    work.end()
    assert [name for name, _, _ in work.ends] == ["a", "b"]
