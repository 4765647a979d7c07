"""The background worker: it survives database outages, and resumes what a killed worker left (DECISIONS 10.4)."""

import datetime
import logging
import threading
import time
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections, connections
from django.db.models import Q
from django.utils.crypto import get_random_string
from django.utils.module_loading import import_string
from django_tasks import TaskResultStatus
from django_tasks_db.management.commands.db_worker import Worker
from django_tasks_db.models import DBTaskResult

from records.history.trail import now
from records.operations import heartbeats, mails
from records.operations.outages import outage_of

logger = logging.getLogger("larder.worker")

BEAT_SECONDS = 5.0
AWAITED_EVERY = datetime.timedelta(seconds=4)
"""Slightly less than the time between two heartbeats, so that only one of several workers enqueues awaited tasks."""
PAUSE_SECONDS = 2.0
AGAIN_AFTER = datetime.timedelta(seconds=5)
MOST_ATTEMPTS = 20
"""How often a task is started before it counts as failed, so that a task that kills its worker is not run for ever."""


class ResilientWorker(Worker):
    """A worker that waits for the database to return, and puts back tasks that it could not finish."""

    def run(self) -> None:
        """Work until a signal ends it, whatever happens to the database."""
        original_id = self.worker_id
        while self.running:
            life = HeartbeatThread(self.worker_id, regular_jobs=not self.batch)
            try:
                life.begin()
                super().run()
                return
            except (OperationalError, InterfaceError) as error:
                outage_of(error)
                # Tasks started in this run are resumed when its heartbeat is old, so the next run needs another id.
                self.worker_id = f"{original_id[:50]}-{get_random_string(8)}"
                with suppress(Exception):
                    connections.close_all()
                time.sleep(PAUSE_SECONDS)
            finally:
                life.end()

    def run_task(self, db_task_result: DBTaskResult[Any, Any]) -> None:
        """Run a task; if an outage or the end of this process interrupted it, it runs again instead of failing."""
        fail = db_task_result.set_failed

        def set_failed(error: BaseException) -> None:
            is_interruption = isinstance(error, OperationalError | InterfaceError | SystemExit | KeyboardInterrupt)
            if is_interruption and len(db_task_result.worker_ids) < MOST_ATTEMPTS:
                put_back(db_task_result)
            else:
                logger.error("A task failed.", extra={"task": db_task_result.task_name}, exc_info=error)
                fail(error)

        db_task_result.set_failed = set_failed
        with mails.running(db_task_result):
            super().run_task(db_task_result)


class HeartbeatThread:
    """A thread that writes a heartbeat every 5 seconds and looks after abandoned and due tasks."""

    def __init__(self, worker_id: str, *, regular_jobs: bool) -> None:
        self.worker_id, self.regular_jobs = worker_id, regular_jobs
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, name="heartbeat", daemon=True)

    def begin(self) -> None:
        """Write the first heartbeat; raises DatabaseError if that fails."""
        self._beat()
        self._thread.start()

    def end(self) -> None:
        """Stop the thread."""
        self._stop.set()

    def _beat(self) -> None:
        heartbeats.beat(heartbeats.WORKER + self.worker_id)
        take_up_abandoned()
        if self.regular_jobs:
            enqueue_due_jobs()

    def _live(self) -> None:
        while not self._stop.wait(BEAT_SECONDS):
            try:
                close_old_connections()
                self._beat()
            except Exception as error:
                if outage_of(error) is None:
                    logger.exception("The worker's heartbeat failed.")
        connections.close_all()


def put_back(task: DBTaskResult[Any, Any]) -> None:
    """Make a task that was started run again soon."""
    task.status = TaskResultStatus.READY
    task.run_after = now() + AGAIN_AFTER
    task.save(update_fields=["status", "run_after"])


def take_up_abandoned() -> int:
    """Put back the tasks of workers without heartbeat; return how many there were."""
    # A start in the future was stamped before the clock was set back.
    long_ago, to_come = now() - heartbeats.DEAD_AFTER, now() + heartbeats.DEAD_AFTER
    suspect_tasks = DBTaskResult.objects.running().filter(Q(started_at__lt=long_ago) | Q(started_at__gt=to_come))
    tasks = list(suspect_tasks.order_by("started_at")[:100])
    if not tasks:
        return 0
    living_ids, count = heartbeats.living_workers(), 0
    for task in tasks:
        if task.worker_ids and task.worker_ids[-1] in living_ids:
            continue
        same_task = DBTaskResult.objects.running().filter(pk=task.pk, started_at=task.started_at)
        if len(task.worker_ids) >= MOST_ATTEMPTS:
            failure = {"status": TaskResultStatus.FAILED, "finished_at": now(), "traceback": "Its worker was killed."}
            if same_task.update(**failure):
                logger.error("A task was given up: its workers were killed.", extra={"task": task.task_name})
        elif same_task.update(status=TaskResultStatus.READY, run_after=now()):
            logger.warning("A task that a worker left is taken up again.", extra={"task": task.task_name})
            count += 1
    return count


def enqueue_due_jobs() -> None:
    """Enqueue the regular jobs that are due and those for which work is waiting; only one worker enqueues each."""
    for path, interval in settings.REGULAR_JOBS.items():
        if heartbeats.claim_job(path, interval):
            import_string(path).enqueue()
    for path, is_waiting in settings.AWAITED_JOBS.items():
        if import_string(is_waiting)() and heartbeats.claim_job(path, AWAITED_EVERY):
            import_string(path).enqueue()
