"""Erases the private facts of an employee who left, from the record, its history and the account."""

import uuid

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from records.accounts.employee_facts import forget_contacts
from records.employees.models import Employee
from records.history.erasure import Personal
from records.history.trail import Author
from records.retention.erasing import ERASE_EMPLOYEE, erasing
from records.sites.writing import Precondition

PRIVATE = tuple(Employee.HISTORY_PRIVATE)


def erase_private_facts(
    site_id: uuid.UUID,
    employee_id: uuid.UUID,
    *,
    author: Author,
    reason: str,
    precondition: Precondition | None = None,
) -> Employee:
    """Erase date of birth, address, phones, nationality and notes, also in the history and at the account.

    The name, the job and the training stay, since signatures and other records refer to them. Raises as `erasing` does,
    and ValidationError (InvalidTransition) for an employee who is not archived; repeating it changes nothing.
    """
    personal = Personal(PRIVATE)
    with erasing(
        Employee,
        site_id,
        employee_id,
        personal,
        author=author,
        reason=reason,
        operation=ERASE_EMPLOYEE,
        precondition=precondition,
    ) as erasure:
        employee: Employee = erasure.record
        if not employee.is_archived:
            text = gettext("Only what is private to an employee who left can be erased. Archive the employee first.")
            raise ValidationError(text, code="InvalidTransition")
        erasure.erase(*PRIVATE)
        if employee.user_id is not None:
            forget_contacts(employee.user_id)
    return employee
