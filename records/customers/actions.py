"""Writes to customers, each one transaction with its history."""

import uuid
from typing import Unpack

from records.customers.models import Customer
from records.history.statements import new_row
from records.history.trail import Author
from records.sites.writing import Values, WriteArgs, add_record, apply, changing


def add_customer(
    site_id: uuid.UUID, values: Values, *, author: Author, operation: str = "AddCustomer", reason: str = ""
) -> Customer:
    """Add a customer with its contacts to the site. Raises ValidationError."""
    return add_record(new_row(Customer, site_id=site_id), values, author=author, operation=operation, reason=reason)


def update_customer(
    site_id: uuid.UUID,
    customer_id: uuid.UUID,
    values: Values,
    *,
    operation: str = "UpdateCustomer",
    **options: Unpack[WriteArgs],
) -> Customer:
    """Change a customer. Raises RecordNotFoundError, ValidationError, or what the precondition raises."""
    with changing(Customer, site_id, customer_id, operation=operation, **options) as customer:
        apply(customer, values)
    return customer
