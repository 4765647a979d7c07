"""The background worker: what it does when its database or another worker fails, and its regular jobs."""

import datetime
from typing import Any

import pytest
from django.core.mail import send_mail
from django.db import OperationalError
from django_tasks import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from records.history.trail import now
from records.operations import heartbeats, mails, worker
from records.operations.housekeeping import clean_up
from records.operations.models import Heartbeat

HOUR = datetime.timedelta(hours=1)


@pytest.fixture
def task(db: None) -> DBTaskResult:
    """Return a task that waits."""
    clean_up.enqueue()
    return DBTaskResult.objects.get()


def run(task: DBTaskResult, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> DBTaskResult:
    """Run a task that raises an error."""

    def fail(*args: Any, **kwargs: Any) -> None:
        raise error

    monkeypatch.setattr("records.operations.housekeeping.forget_finished_tasks", fail)
    task.claim("one")
    running = worker.ResilientWorker.__new__(worker.ResilientWorker)
    running._run_tasks = 0
    running.run_task(task)
    task.refresh_from_db()
    return task


@pytest.mark.parametrize("error", [OperationalError("gone"), SystemExit(1)])
def test_a_task_that_met_an_outage_or_the_end_of_its_worker_runs_again(
    task: DBTaskResult, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    result = run(task, monkeypatch, error)
    assert result.status == TaskResultStatus.READY
    assert now() < result.run_after < now() + datetime.timedelta(seconds=30)


def test_a_task_that_fails_by_itself_has_failed(task: DBTaskResult, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(task, monkeypatch, ValueError("wrong")).status == TaskResultStatus.FAILED


def abandon(task: DBTaskResult, times: int = 1) -> None:
    """Let workers take the task and die."""
    for number in range(times):
        task.claim(f"dead {number}")
    DBTaskResult.objects.update(started_at=now() - HOUR)


def test_a_task_whose_worker_is_dead_is_taken_up_again(task: DBTaskResult) -> None:
    abandon(task)
    assert worker.take_up_abandoned() == 1
    task.refresh_from_db()
    assert task.status == TaskResultStatus.READY


def test_a_task_whose_worker_lives_is_left_alone(task: DBTaskResult) -> None:
    abandon(task)
    heartbeats.beat(heartbeats.WORKER + "dead 0")
    assert worker.take_up_abandoned() == 0


def test_a_worker_whose_clock_is_a_day_ahead_leaves_the_tasks_of_living_workers_alone(
    task: DBTaskResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    task.claim("one")
    heartbeats.beat(heartbeats.WORKER + "one")
    for module in (worker, heartbeats):
        monkeypatch.setattr(module, "now", lambda: now() + 25 * HOUR, raising=False)
    assert worker.take_up_abandoned() == 0
    task.refresh_from_db()
    assert task.status == TaskResultStatus.RUNNING


def test_times_from_before_the_clock_was_set_back_neither_keep_a_dead_worker_alive_nor_stop_a_job(
    task: DBTaskResult, settings: Any
) -> None:
    settings.REGULAR_JOBS = {"records.operations.housekeeping.clean_up": HOUR}
    abandon(task)
    heartbeats.beat(heartbeats.WORKER + "dead 0")
    worker.enqueue_due_jobs()
    before = DBTaskResult.objects.count()
    DBTaskResult.objects.running().update(started_at=now() + 25 * HOUR)
    Heartbeat.objects.update(at=now() + 25 * HOUR)
    assert worker.take_up_abandoned() == 1
    worker.enqueue_due_jobs()
    worker.enqueue_due_jobs()
    assert DBTaskResult.objects.count() == before + 1


def test_a_task_that_kills_its_workers_is_given_up(task: DBTaskResult) -> None:
    abandon(task, worker.MOST_ATTEMPTS)
    assert worker.take_up_abandoned() == 0
    task.refresh_from_db()
    assert task.status == TaskResultStatus.FAILED


def test_a_worker_is_dead_when_it_gives_no_sign_of_life(db: None) -> None:
    heartbeats.beat(heartbeats.WORKER + "one")
    heartbeats.beat(heartbeats.WORKER + "two")
    Heartbeat.objects.filter(name=heartbeats.WORKER + "two").update(at=now() - heartbeats.DEAD_AFTER)
    assert heartbeats.living_workers() == {"one"}


def test_a_regular_job_is_enqueued_once_each_time_it_is_due(db: None, settings: Any) -> None:
    settings.REGULAR_JOBS = {"records.operations.housekeeping.clean_up": HOUR}
    worker.enqueue_due_jobs()
    worker.enqueue_due_jobs()
    assert DBTaskResult.objects.count() == 1
    Heartbeat.objects.update(at=now() - HOUR)
    worker.enqueue_due_jobs()
    assert DBTaskResult.objects.count() == 2


def test_mails_of_a_task_keep_their_ids_when_it_runs_again_or_queues_itself_again(
    db: None, mailoutbox: Any, settings: Any
) -> None:
    settings.EMAIL_SENDER = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = "records.operations.mails.MailBackend"
    first = task_result()
    for task in (first, first):
        with mails.running(task):
            send_two()
    with mails.running(first):
        again = task_result()
    with mails.running(again):
        send_two()
    ids = [mail.extra_headers["Message-ID"] for mail in mailoutbox]
    assert ids[:2] == ids[2:4] == ids[4:]
    assert ids[0] != ids[1]
    with mails.running(task_result()):
        send_two()
    assert len({mail.extra_headers["Message-ID"] for mail in mailoutbox}) == 4


def task_result() -> DBTaskResult:
    """Return a task that was queued just now."""
    return DBTaskResult.objects.get(pk=clean_up.enqueue().id)


def send_two() -> None:
    """Send two mails."""
    for number in range(2):
        send_mail(f"Mail {number}", "Text", None, ["nora@example.com"])


def test_housekeeping_deletes_what_has_had_its_time(db: None) -> None:
    for _ in range(2):
        clean_up.enqueue()
    old = DBTaskResult.objects.first()
    assert old is not None
    DBTaskResult.objects.filter(pk=old.pk).update(
        status=TaskResultStatus.SUCCESSFUL, finished_at=now() - datetime.timedelta(days=15)
    )
    heartbeats.beat(heartbeats.WORKER + "one")
    Heartbeat.objects.update(at=now() - datetime.timedelta(days=2))
    assert clean_up.call() == {"tasks": 1, "answers": 0, "access_changes": 0, "heartbeats": 1}
    assert DBTaskResult.objects.count() == 1


def test_what_is_awaited_is_queued_once_it_waits_and_by_one_worker_only(
    db: None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    waits = [False]
    monkeypatch.setattr("records.webhooks.tasks.is_waiting", lambda: waits[0])
    settings.REGULAR_JOBS = {}
    settings.AWAITED_JOBS = {"records.webhooks.tasks.deliver": "records.webhooks.tasks.is_waiting"}
    worker.enqueue_due_jobs()
    assert not DBTaskResult.objects.exists()
    waits[0] = True
    worker.enqueue_due_jobs()
    worker.enqueue_due_jobs()
    assert [task.task_path for task in DBTaskResult.objects.all()] == list(settings.AWAITED_JOBS)
    Heartbeat.objects.update(at=now() - HOUR)
    worker.enqueue_due_jobs()
    assert DBTaskResult.objects.count() == 2
