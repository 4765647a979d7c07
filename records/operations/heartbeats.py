"""Signs of life of the worker, and when its regular jobs were last begun (DECISIONS 10.4).

All of them are measured by the clock of the database: a worker whose own clock is wrong neither takes the others for
dead nor keeps their regular jobs from being run.
"""

import datetime

from django.db.models.functions import Now

from records.operations.models import Heartbeat

WORKER = "worker:"
JOB = "job:"
WRITE_CHECK = "write check"
BACKUP = "backup"
LATE = datetime.timedelta(seconds=30)
"""After so long without a sign of life a worker is taken for dead, and its task is taken up by another one."""


def beat(name: str) -> None:
    """Say that the process of this name lives; raises DatabaseError."""
    Heartbeat.objects.update_or_create(name=name, defaults={"at": Now()})


def living_workers() -> set[str]:
    """Return the ids of the workers that live."""
    names = Heartbeat.objects.filter(name__startswith=WORKER, at__gt=Now() - LATE).values_list("name", flat=True)
    return {name.removeprefix(WORKER) for name in names}


def claim_job(name: str, every: datetime.timedelta) -> bool:
    """Take a regular job if it is due; False where it is not, or another worker has taken it."""
    _, is_new = Heartbeat.objects.get_or_create(name=JOB + name, defaults={"at": Now()})
    return is_new or bool(Heartbeat.objects.filter(name=JOB + name, at__lte=Now() - every).update(at=Now()))
