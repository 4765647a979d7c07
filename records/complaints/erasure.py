"""Erases a consumer's identity from a complaint and its history at the consumer's request."""

import uuid

from records.complaints.models import CONSUMER, Complaint
from records.history.erasure import Personal
from records.history.trail import Author
from records.retention.erasing import ERASE_CONSUMER, erasing
from records.sites.writing import Precondition


def erase_consumer(
    site_id: uuid.UUID,
    complaint_id: uuid.UUID,
    *,
    author: Author,
    reason: str,
    precondition: Precondition | None = None,
) -> Complaint:
    """Replace the consumer's name, address, phones and e-mail by a keyed digest, also in the history.

    This is possible in every state of the complaint, even if it is archived. Several complaints of one consumer can
    still be recognised as related. Raises as `erasing` does, also when it is repeated.
    """
    personal = Personal(CONSUMER)
    with erasing(
        Complaint,
        site_id,
        complaint_id,
        personal,
        author=author,
        reason=reason,
        operation=ERASE_CONSUMER,
        precondition=precondition,
    ) as erasure:
        erasure.erase(*CONSUMER)
    complaint: Complaint = erasure.record
    return complaint
