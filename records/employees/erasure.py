"""Erases the private facts of an employee who left, from the record, its history and the account."""

import uuid
from typing import Unpack

from django.utils.translation import gettext

from records.accounts.employee_facts import CONTACTS, forget_contacts
from records.employees.models import Employee
from records.history.digests import FieldChange, Side
from records.history.erasure import Personal, erase_from_history
from records.history.trail import Author, recording
from records.retention.erasing import ERASE_EMPLOYEE, Erasure, erasing
from records.retention.marks import digest_of
from records.retention.words import Words
from records.sites.text import refuse
from records.sites.writing import WriteArgs

PRIVATE = tuple(Employee.HISTORY_PRIVATE)
PERSONAL = Personal(PRIVATE)
IDENTIFYING = ("address", "phone", "mobile")
"""The fields whose values few other people share."""


def erase_private_facts(site_id: uuid.UUID, employee_id: uuid.UUID, **options: Unpack[WriteArgs]) -> Employee:
    """Erase date of birth, address, phones, nationality and notes, also in the history and at the account.

    The name, the job and the training stay, since signatures and other records refer to them. Raises as `erasing` does,
    also when it is repeated, and ValidationError (InvalidTransition) for an employee who is not archived.
    """
    with erasing(Employee, site_id, employee_id, PERSONAL, IDENTIFYING, operation=ERASE_EMPLOYEE, **options) as erasure:
        employee: Employee = erasure.record
        if not employee.is_archived:
            text = gettext("Only what is private to an employee who left can be erased. Archive the employee first.")
            raise refuse(text)
        erasure.erase(*PRIVATE)
        if employee.user_id is not None:
            author, reason = options["author"], options.get("reason", "")
            _erase_from_account(employee.user_id, erasure, author=author, reason=reason)
    return employee


class _DirectoryFacts(Personal):
    """What a directory sent about an account, if a phone or an address is among it."""

    def texts(self, entry: FieldChange, side: Side) -> list[str]:
        """Return the text of all that the directory sent; an empty list if nothing of it is to be erased."""
        facts = entry.get(side) if entry["field"] in self.columns else None
        return [str(facts)] if isinstance(facts, dict) and any(facts.get(name) for name in CONTACTS) else []


def _erase_from_account(user_id: uuid.UUID, erasure: Erasure, *, author: Author, reason: str) -> None:
    """Erase phones and addresses at the account and from its history, which has all that a directory sent.

    The account has a Change of its own for it, if its history had any. A change of the history loses all that the
    directory sent at that time, since the parts of a value have one digest together.
    """
    account, was_known = forget_contacts(user_id)
    with recording() as trail:
        personal = _DirectoryFacts(("directory_attributes",))
        entries = erase_from_history(account, personal, Words(erasure.words).are_quoted_in, digest_of)
        erasure.has_erased_elsewhere = was_known or bool(entries)
        if entries:
            site_id = account.home_site_id
            trail.add(account, entries, author=author, operation=ERASE_EMPLOYEE, reason=reason, site_id=site_id)
