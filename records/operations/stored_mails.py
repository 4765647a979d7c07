"""Mails that are stored as rows before a task sends them: each is sent once, and again later if that fails.

Such a row has `due`, `attempts`, `sent` and `last_error`. The task may run as often as you like and in any number of
workers: it takes only rows that are due. If a worker is killed, what it had taken is due again when its lease ends.
"""

import datetime
import logging
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import F, Model, QuerySet
from django_tasks_db.models import DBTaskResult

from records.history.trail import now

logger = logging.getLogger("larder.mail")
LEASE = datetime.timedelta(seconds=45)
"""How long other workers leave a taken mail alone, so that one that a killed worker took is sent within a minute.

A mail server that takes longer gets the mail twice, under the same Message-ID.
"""
DELAYS = tuple(datetime.timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180))
BATCH = 200


def is_queued(task: Any) -> bool:
    """Return whether a run of the task waits in the queue; what is due without one was taken by a killed worker."""
    return DBTaskResult.objects.ready().filter(task_path=task.module_path).exists()


def take(row: QuerySet[Model]) -> bool:
    """Claim a row for the time of the lease; returns False if it is not due, or not any longer."""
    due_row = row.filter(sent__isnull=True, due__lte=now())
    return due_row.update(due=now() + LEASE, attempts=F("attempts") + 1) == 1


def mail_of(row: Model, address: str, subject: str, text: str) -> EmailMessage:
    """Return the row's mail in plain text; its Message-ID stays the same when it is sent again."""
    host = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip("> ") or "localhost"
    headers = {"Message-ID": f"<{row.pk}@{host}>", "Auto-Submitted": "auto-generated"}
    return EmailMessage(subject, text, to=[address], headers=headers)


def send(row: Any, send_mail: Callable[[], object], task: Any) -> bool:
    """Send the mail of a taken row and return whether it was sent; if not, the task is queued for the next attempt."""
    try:
        send_mail()
    except Exception as error:
        due = now() + DELAYS[min(row.attempts, len(DELAYS)) - 1]
        kind, fault = row._meta.model_name, type(error).__name__
        logger.warning("A %s could not be sent (attempt %s): %s", kind, row.attempts, fault)
        type(row).objects.filter(pk=row.pk).update(due=due, last_error=fault)
        task.using(run_after=due).enqueue()
        return False
    close(row)
    return True


def close(row: Any, why_unsent: str = "") -> None:
    """Note that a mail has been sent, or why it will not be."""
    type(row).objects.filter(pk=row.pk).update(sent=now(), last_error=why_unsent)
