"""Erases a consumer's identity from a complaint and its history at the consumer's request (DECISIONS 13.4)."""

import uuid

from django.core.exceptions import ValidationError

from records.accounts import peppers
from records.complaints.models import CONSUMER, Complaint
from records.history.erasure import erase_from_history, is_mark, quotes
from records.history.models import Change
from records.history.trail import Author, recording
from records.retention.actions import check_not_held
from records.sites.reasons import required_reason
from records.sites.writing import Precondition, RecordNotFoundError, stamp


def erase_consumer(
    site_id: uuid.UUID,
    complaint_id: uuid.UUID,
    *,
    author: Author,
    reason: str,
    operation: str = "EraseConsumer",
    precondition: Precondition | None = None,
) -> Complaint:
    """Replace the consumer's name, address, phones and e-mail by a keyed digest, also in the history.

    This is possible in every state of the complaint, even if it is archived (DECISIONS 13.14), and within the period
    of retention, because the complaint itself stays. Equal values have equal digests, so that several complaints of one
    consumer can still be recognised as related. Needs a reason, which must not quote the erased data; repeating it
    changes nothing. Raises RecordNotFoundError, ValidationError (InvalidTransition while the complaint is on legal
    hold), or the error of the precondition.
    """
    why = required_reason(reason)
    with recording() as trail:
        complaint = Complaint.objects.select_for_update(of=("self",), no_key=True).filter(pk=complaint_id).first()
        if complaint is None or complaint.site_id != site_id:
            raise RecordNotFoundError
        if precondition is not None:
            precondition(complaint)
        check_not_held(complaint)
        changed = []
        words = _values_so_far(complaint)
        if quotes(why, words):
            text = "The reason stays in the history, so it must not say who the consumer is."
            raise ValidationError({"reason": ValidationError(text, code="InvalidValue")})
        for name in CONSUMER:
            value = getattr(complaint, name)
            if value and not is_mark(value):
                setattr(complaint, name, _mark(name, value))
                changed.append({"field": name, "old": {"erased": keyed(value)}, "new": getattr(complaint, name)})
        changed += erase_from_history(complaint, CONSUMER, words, keyed)
        if not changed:
            return complaint
        stamp(complaint, author)
        complaint.save(force_update=True)
        trail.add(complaint, changed, author=author, operation=operation, reason=why)
    return complaint


def keyed(value: str) -> str:
    """Return the digest that replaces an erased value: 16 hexadecimal digits, keyed with the newest pepper."""
    return peppers.digest(f"erased\n{value}")[:16]


def _mark(name: str, value: str) -> str:
    """Return the mark for the complaint's own column; in an e-mail field it is a well-formed address."""
    mark = f"erased-{keyed(value)}"
    return f"{mark}@erased.invalid" if name == "consumer_email" else mark


def _values_so_far(complaint: Complaint) -> set[str]:
    """Return every value that one of the fields holds or held in the past."""
    found = {getattr(complaint, name) for name in CONSUMER}
    for fields in Change.objects.filter(record_id=complaint.pk).values_list("fields", flat=True):
        for entry in fields:
            if entry["field"] in CONSUMER:
                found |= {entry[side] for side in ("old", "new") if isinstance(entry.get(side), str)}
    return {value for value in found if value and not is_mark(value)}
