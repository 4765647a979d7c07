"""Erases a consumer's identity from a complaint and its history at the consumer's request."""

import uuid
from typing import Unpack

from records.complaints.models import CONSUMER, Complaint
from records.history.erasure import Personal
from records.retention.erasing import ERASE_CONSUMER, erasing
from records.sites.writing import WriteArgs

PERSONAL = Personal(CONSUMER)
IDENTIFYING = ("consumer_last_name", "consumer_address", "consumer_phone", "consumer_mobile", "consumer_email")
"""The fields whose values few other people share."""


def erase_consumer(
    site_id: uuid.UUID, complaint_id: uuid.UUID, *, with_texts: bool = False, **options: Unpack[WriteArgs]
) -> Complaint:
    """Replace the consumer's name, address, phones and e-mail by a keyed digest, also in the history.

    `with_texts` does the same with each free text that contains one of them.

    This is possible in every state of the complaint, even if it is archived. Several complaints of one consumer can
    still be recognised as related. Raises as `erasing` does, also when it is repeated.
    """
    with erasing(
        Complaint,
        site_id,
        complaint_id,
        PERSONAL,
        IDENTIFYING,
        operation=ERASE_CONSUMER,
        with_texts=with_texts,
        **options,
    ) as erasure:
        erasure.erase(*CONSUMER)
    complaint: Complaint = erasure.record
    return complaint
