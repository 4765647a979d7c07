"""Verify the history and store the result, for the commands, the daily task and the history page."""

import logging
from pathlib import Path
from typing import Any

from records.history import seals, verification
from records.history.models import Proof
from records.history.trail import now
from records.history.verification import Report

logger = logging.getLogger("larder.history")


def prove(sealed: dict[str, Any] | None = None) -> Report:
    """Verify the history, also against a seal if one is given, and store the result."""
    report = verification.verify()
    if sealed is not None:
        seals.compare(report, sealed)
    Proof.objects.create(at=now(), changes=report.changes, faults=len(report.faults))
    return report


def described(report: Report) -> list[str]:
    """Return a line for each fault, with the name of the site of its chain."""
    names = {chain: seals.site_name(chain) for chain in {fault.chain for fault in report.faults}}
    return [f"{names[fault.chain]}: {fault.text}" for fault in report.faults]


def last_proof() -> Proof | None:
    """Return the newest stored result."""
    return Proof.objects.order_by("-at", "-id").first()


def newest_seal(folder: Path) -> Path | None:
    """Return the newest daily seal in a folder."""
    return max(folder.glob("history-*.json"), default=None)
