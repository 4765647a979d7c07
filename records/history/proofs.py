"""Verify the history and store the result, for the commands, the daily task and the history page."""

import logging
import uuid
from pathlib import Path

from records.history import seals, verification
from records.history.models import Proof
from records.history.seals import SealContent
from records.history.trail import now
from records.history.verification import Fault, Report

logger = logging.getLogger("larder.history")

MOST_NAMED = 100
"""How many faults are stored with a result; the command and the log name all."""


def prove(seal: SealContent | None = None) -> Report:
    """Verify the history, also against a seal if one is given, and store the result."""
    report = verification.verify()
    if seal is not None:
        seals.compare(report, seal)
    texts = [(str(fault.chain), fault.text) for fault in report.faults[:MOST_NAMED]]
    Proof.objects.create(at=now(), changes=report.changes, faults=len(report.faults), named=texts)
    return report


def fault_lines(faults: list[Fault]) -> list[str]:
    """Return a line for each fault or notice, with the name of the site of its chain."""
    names = {chain: seals.site_name(chain) for chain in {fault.chain for fault in faults}}
    return [f"{names[fault.chain]}: {fault.text}" for fault in faults]


def last_proof() -> Proof | None:
    """Return the newest stored result."""
    return Proof.objects.order_by("-at", "-id").first()


def seal_of_today(folder: Path) -> Path:
    """Return where the seal of this day is kept."""
    return folder / f"history-{now():%Y-%m-%d}.json"


def newest_seal(folder: Path) -> SealContent | None:
    """Return the content of the newest daily seal that can be used; those that cannot are an error in the log.

    Otherwise a damaged seal, or one by a former key, would stop the daily proof for good. A seal with a date in the
    future, which comes from a wrong clock, is used only if there is no other.
    """
    today = seal_of_today(folder).name
    unusable = []
    for path in sorted(folder.glob("history-*.json"), key=lambda path: (path.name <= today, path.name), reverse=True):
        try:
            seal = seals.read_seal(path)
        except seals.SealError as error:
            unusable.append(str(error))
            continue
        break
    else:
        seal = None
    if unusable:
        logger.error(
            "The history was not compared with its newest seal: %s Seals that cannot be used: %s. Verify the history "
            "with the last good one (verify_history --seal FILE --key FILE).",
            unusable[0],
            len(unusable),
        )
    return seal


def named_at(proof: Proof | None, site_id: uuid.UUID | None) -> list[str]:
    """Return the stored faults of a result that concern a site's chain."""
    return [text for chain, text in (proof.named or () if proof is not None else ()) if chain == str(site_id)]
