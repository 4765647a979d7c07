"""The worker's part: once a day the history is proven against the last seal, and its heads are sealed anew."""

import datetime
from pathlib import Path

from django.conf import settings
from django_tasks import task

from records.history import proofs, seals
from records.history.trail import now

DAY = datetime.timedelta(days=1)


@task()
def prove_history() -> int:
    """Prove the history and seal its heads; returns the number of faults, each of which is an error in the log.

    A history with faults is not sealed: the last seal without faults is what shows them.
    """
    folder = Path(settings.SEALS_DIR)
    newest = proofs.newest_seal(folder)
    report = proofs.prove(seals.read_seal(newest) if newest is not None else None)
    for line in proofs.described(report):
        proofs.logger.error("The history has a fault. %s", line)
    if not report.faults:
        path = folder / f"history-{now():%Y-%m-%d}.json"
        made = seals.write_seal(path)
        # Whoever collects the logs elsewhere holds the seal's signature, which no one here can take back.
        proofs.logger.info("The history was proven and sealed: %s changes, %s", report.changes, made["signature"])
    return len(report.faults)
