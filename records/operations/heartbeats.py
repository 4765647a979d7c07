"""Heartbeats of the workers, and when the regular jobs were last started (DECISIONS 10.4).

All times come from the clock of the database. A worker with a wrong clock therefore neither considers other workers
dead nor prevents their regular jobs. If the clock of the database itself was wrong and is set back, times that lie in
the future count as none: they say nothing about now.
"""

import datetime

from django.db.models import Q
from django.db.models.functions import Now

from records.operations.models import Heartbeat

WORKER = "worker:"
JOB = "job:"
WRITE_CHECK = "write check"
BACKUP = "backup"
DEAD_AFTER = datetime.timedelta(seconds=30)
"""A worker without a heartbeat for this long is considered dead, and another worker takes over its task."""


def beat(name: str) -> None:
    """Record a heartbeat of the process with this name; raises DatabaseError."""
    Heartbeat.objects.update_or_create(name=name, defaults={"at": Now()})


def living_workers() -> set[str]:
    """Return the ids of the workers that are alive."""
    names = Heartbeat.objects.filter(
        name__startswith=WORKER, at__gt=Now() - DEAD_AFTER, at__lt=Now() + DEAD_AFTER
    ).values_list("name", flat=True)
    return {name.removeprefix(WORKER) for name in names}


def claim_job(name: str, interval: datetime.timedelta) -> bool:
    """Claim a regular job if it is due; False if it is not due or another worker has claimed it."""
    _, is_new = Heartbeat.objects.get_or_create(name=JOB + name, defaults={"at": Now()})
    is_due = Q(at__lte=Now() - interval) | Q(at__gt=Now() + DEAD_AFTER)
    return is_new or bool(Heartbeat.objects.filter(is_due, name=JOB + name).update(at=Now()))
