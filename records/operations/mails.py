"""Mails and tasks: a mail that a task sends again keeps its Message-ID, so that a person sees it only once.

A worker that is killed after the end of a mail cannot know whether the mail server accepted it, so the mail is sent
again. Mail programs show mails with the same Message-ID as one.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django_tasks_db.backend import DatabaseBackend, normalize_json
from django_tasks_db.models import DBTaskResult, get_date_max

from records.history.inserts import insertions
from records.history.origin import origin_id, working_for
from records.history.trail import store

_AGAIN = "again:"
_REQUEST = "request_id"
"""The key under which a task's row holds the id of the request that enqueued it, beside its arguments."""


class _RunningTask:
    """The running task: its name, the task that it first was, the request that it works for, its number of mails.

    A task that no request enqueued works under its own id.
    """

    def __init__(self, task: DBTaskResult[Any, Any]) -> None:
        first = task.worker_ids[0] if task.worker_ids else ""
        self.path = task.task_path
        self.first = first.removeprefix(_AGAIN) if first.startswith(_AGAIN) else str(task.pk)
        self.numbers = count(1)
        self.request_id = str(task.args_kwargs.get(_REQUEST) or task.pk)


_running_task: ContextVar[_RunningTask | None] = ContextVar("running task", default=None)


@contextmanager
def running(task: DBTaskResult[Any, Any]) -> Iterator[None]:
    """Run a block as the work of a task, and of the request that enqueued it."""
    running_task = _RunningTask(task)
    token = _running_task.set(running_task)
    try:
        with working_for(running_task.request_id, lambda: running_task.path):
            yield
    finally:
        _running_task.reset(token)


class TaskBackend(DatabaseBackend):
    """Queues tasks as rows with the id of the request that enqueues them, in a write together with its Change.

    A task that queues a retry of itself passes on which attempt was the first.
    """

    def _task_to_db_task(self, task: Any, args: object, kwargs: object) -> DBTaskResult[Any, Any]:
        now_running = _running_task.get()
        is_retry = now_running is not None and now_running.path == task.module_path
        row: DBTaskResult[Any, Any] = DBTaskResult(
            id=self._get_id(),
            args_kwargs=normalize_json({"args": args, "kwargs": kwargs, _REQUEST: origin_id()}),
            priority=task.priority,
            task_path=task.module_path,
            queue_name=task.queue_name,
            run_after=task.run_after or get_date_max(),
            backend_name=self.alias,
            worker_ids=[_AGAIN + now_running.first] if now_running is not None and is_retry else [],
        )
        store(insertions([row]))
        return row


class MailBackend(BaseEmailBackend):
    """Sends mails through the backend that the environment configures.

    Each mail names the request that caused it (`X-Request-Id`); those of a task also get Message-IDs.
    """

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Send the mails and return how many were sent."""
        task = _running_task.get()
        host = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip("> ") or "localhost"
        for message in email_messages:
            if request_id := origin_id():
                message.extra_headers.setdefault("X-Request-Id", request_id)
            if task is not None:
                message.extra_headers.setdefault("Message-ID", f"<{task.first}.{next(task.numbers)}@{host}>")
        sender = get_connection(settings.EMAIL_SENDER, fail_silently=self.fail_silently)
        return sender.send_messages(list(email_messages)) or 0
