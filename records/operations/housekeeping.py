"""Deletes what has expired: sessions, finished tasks, stored answers, old heartbeats."""

import datetime
import logging
from importlib import import_module

from django.conf import settings
from django.db.models.functions import Now
from django_tasks import task
from django_tasks_db.models import DBTaskResult

from records.accounts.housekeeping import drop_old_access_changes
from records.history.trail import now
from records.operations.heartbeats import WORKER
from records.operations.idempotency import forget_old_answers
from records.operations.models import Heartbeat

logger = logging.getLogger("larder.worker")

FINISHED_TASKS = datetime.timedelta(days=14)
OLD_HEARTBEATS = datetime.timedelta(days=1)
AT_ONCE = 1_000


@task()
def clean_up() -> dict[str, int]:
    """Delete what is no longer needed and return the number of each; runs once an hour."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    counts = {
        "tasks": forget_finished_tasks(),
        "answers": forget_old_answers(),
        "access_changes": drop_old_access_changes(),
        "heartbeats": Heartbeat.objects.filter(name__startswith=WORKER, at__lt=Now() - OLD_HEARTBEATS).delete()[0],
    }
    logger.info("Housekeeping is done.")
    return counts


def forget_finished_tasks() -> int:
    """Delete the results of tasks that ended 14 days ago, a thousand at a time; return their number."""
    deleted = 0
    while True:
        old = DBTaskResult.objects.finished().filter(finished_at__lt=now() - FINISHED_TASKS)
        keys = list(old.order_by().values_list("pk", flat=True)[:AT_ONCE])
        deleted += DBTaskResult.objects.filter(pk__in=keys).delete()[0]
        if len(keys) < AT_ONCE:
            return deleted
