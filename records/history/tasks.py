"""The daily task of the worker: the history is verified against the last seal, then its heads are sealed again."""

import datetime
from pathlib import Path

from django.conf import settings
from django_tasks import task

from records.history import proofs, seals

DAY = datetime.timedelta(days=1)


@task()
def prove_history() -> int:
    """Prove the history and seal its heads; returns the number of faults, each of which is an error in the log.

    A history with faults is not sealed, because the last seal without faults is what proves them. Records of two kinds
    that have one Id are a warning and do not prevent the seal.
    """
    folder = Path(settings.SEALS_DIR)
    report = proofs.prove(proofs.newest_seal(folder))
    for line in proofs.fault_lines(report.notices):
        proofs.logger.warning("Records of two kinds have one Id. %s", line)
    for line in proofs.fault_lines(report.faults):
        proofs.logger.error("The history has a fault. %s", line)
    if not report.faults:
        seal = seals.write_seal(proofs.seal_of_today(folder))
        # Where logs are collected elsewhere, the seal's signature is stored out of reach of this machine.
        proofs.logger.info("The history was verified and sealed: %s changes, %s", report.changes, seal["signature"])
    return len(report.faults)
