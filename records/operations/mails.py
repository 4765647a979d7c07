"""Mails of the background tasks: a mail that is sent again keeps its Message-ID, so that a person sees it only once.

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
from django_tasks_db.backend import DatabaseBackend
from django_tasks_db.models import DBTaskResult

_AGAIN = "again:"


class _Running:
    """The running task: its name, the task that it first was, and how many mails it has sent."""

    def __init__(self, task: DBTaskResult[Any, Any]) -> None:
        first = task.worker_ids[0] if task.worker_ids else ""
        self.path = task.task_path
        self.first = first.removeprefix(_AGAIN) if first.startswith(_AGAIN) else str(task.pk)
        self.numbers = count(1)


_running: ContextVar[_Running | None] = ContextVar("running task", default=None)


@contextmanager
def running(task: DBTaskResult[Any, Any]) -> Iterator[None]:
    """Run a block as the work of a task."""
    token = _running.set(_Running(task))
    try:
        yield
    finally:
        _running.reset(token)


class TaskBackend(DatabaseBackend):
    """Queues tasks as rows; a task that queues a retry of itself passes on which attempt was the first."""

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Queue a task and return its result object."""
        result: Any = super().enqueue(task, args, kwargs)
        now_running = _running.get()
        if now_running is not None and now_running.path == task.module_path:
            DBTaskResult.objects.filter(pk=result.id).update(worker_ids=[_AGAIN + now_running.first])
        return result


class MailBackend(BaseEmailBackend):
    """Sets the Message-IDs of a task's mails, and sends them through the backend that the environment configures."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Send the mails and return how many were sent."""
        task = _running.get()
        host = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip("> ") or "localhost"
        if task is not None:
            for message in email_messages:
                message.extra_headers.setdefault("Message-ID", f"<{task.first}.{next(task.numbers)}@{host}>")
        sender = get_connection(settings.EMAIL_SENDER, fail_silently=self.fail_silently)
        return sender.send_messages(list(email_messages)) or 0
