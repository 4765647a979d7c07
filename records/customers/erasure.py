"""Erases the identity of a contact of a customer, also from the history, at that person's request."""

import uuid
from typing import Unpack

from django.utils.translation import gettext

from records.customers.models import Customer, PartyContact
from records.history.digests import ERASED
from records.history.erasure import Personal, is_mark
from records.history.models import Change
from records.history.snapshots import columns
from records.retention.erasing import ERASE_CONTACT, erasing
from records.retention.marks import digest_of
from records.sites.text import fault_at
from records.sites.writing import WriteArgs

RELATION = "party_contacts"
CONTACT = ("first_name", "last_name", "email", "phone")
"""The fields that identify a contact. Title and position stay, because they describe the job at the customer."""
IDENTIFYING = ("last_name", "email", "phone")
"""The fields whose values few other people share."""
EVERYBODY = Personal(CONTACT, RELATION)
"""The values of all contacts, before one of them is chosen."""


def erase_contact(
    site_id: uuid.UUID,
    customer_id: uuid.UUID,
    contact: str,
    *,
    with_texts: bool = False,
    **options: Unpack[WriteArgs],
) -> Customer:
    """Replace a contact's name, e-mail and phone by a keyed digest, also in the history of the customer.

    A contact that was removed from the customer is erased from the history too. The customer may be archived. Raises
    the errors of `erasing`, also when it is repeated, and ValidationError (InvalidReference) for a contact that the
    customer never had.
    """
    personal = Personal(CONTACT, RELATION, contact)
    with erasing(
        Customer,
        site_id,
        customer_id,
        personal,
        IDENTIFYING,
        operation=ERASE_CONTACT,
        with_texts=with_texts,
        **options,
    ) as erasure:
        customer: Customer = erasure.record
        row = next((row for row in customer.party_contacts.all() if str(row.pk) == contact), None)
        if row is None and contact not in _names_in_history(customer):
            raise fault_at("contact", gettext("The customer does not have this contact."), "InvalidReference")
        fields = [name for name in CONTACT if row is not None and erasure.mark(row, name)]
        if row is not None and fields:
            digest = digest_of(" ".join(sorted(erasure.words)))
            row.save(force_update=True)
            erasure.entries.append({"field": RELATION, "row": contact, "old": {ERASED: digest}, "new": _content(row)})
    return customer


def _content(row: PartyContact) -> dict[str, object]:
    """Return the remaining values of a contact, in the form in which the history stores a whole row."""
    content = {name: value for name, value in columns(row).items() if value not in (None, "")}
    if row.title is not None:
        content["title"] = {"id": str(row.title_id), "name": str(row.title)}
    return content


def contacts_of(customer: Customer) -> list[tuple[str, str]]:
    """Return Id and name of the contacts that can still be erased, the removed ones last; two queries."""
    present = {str(row.pk): row for row in customer.party_contacts.all()}
    contacts = [
        (key, ", ".join(filter(None, (str(row) or gettext("Without a name"), row.position))))
        for key, row in present.items()
        if any(getattr(row, name) and not is_mark(getattr(row, name)) for name in CONTACT)
    ]
    keys = {key for key, _ in contacts}
    for key, name in sorted(_names_in_history(customer).items(), key=lambda pair: pair[1].casefold()):
        if name and key not in keys:
            remark = (
                gettext("an earlier value in the history") if key in present else gettext("removed from the customer")
            )
            contacts.append((key, f"{name} ({remark})"))
    return contacts


def _names_in_history(customer: Customer) -> dict[str, str]:
    """Return the values in the history of every contact that the customer ever had, by its Id; empty if erased."""
    names: dict[str, str] = {}
    changes = Change.objects.filter(record_id=customer.pk, model=customer._meta.label).order_by("number")
    for fields in changes.values_list("fields", flat=True):
        for entry in fields:
            if entry["field"].partition(".")[0] != RELATION or "row" not in entry:
                continue
            personal = Personal(CONTACT, RELATION, entry["row"])
            texts = personal.texts(entry, "new") or personal.texts(entry, "old")
            names[entry["row"]] = " ".join(texts) if texts else names.get(entry["row"], "")
    return names
