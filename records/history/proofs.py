"""Verify the history and store the result, for the commands, the daily task and the history page."""

import logging
import uuid
from pathlib import Path

from records.history import seals, verification
from records.history.models import Proof
from records.history.seals import Sealed
from records.history.trail import now
from records.history.verification import Report

logger = logging.getLogger("larder.history")

MOST_NAMED = 100
"""How many faults are stored with a result; the command and the log name all."""


def prove(sealed: Sealed | None = None) -> Report:
    """Verify the history, also against a seal if one is given, and store the result."""
    report = verification.verify()
    if sealed is not None:
        seals.compare(report, sealed)
    named = [(str(fault.chain), fault.text) for fault in report.faults[:MOST_NAMED]]
    Proof.objects.create(at=now(), changes=report.changes, faults=len(report.faults), named=named)
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


def named_at(proof: Proof | None, site_id: uuid.UUID | None) -> list[str]:
    """Return the stored faults of a result that concern a site's chain."""
    return [text for chain, text in (proof.named or () if proof is not None else ()) if chain == str(site_id)]
