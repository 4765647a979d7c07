"""Customers, with their contacts."""

import re
from decimal import Decimal
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext

from records.reference.folding import FoldedField
from records.sites.models import ChildRow, Entity, SiteRecord, site_record_constraints
from records.sites.text import EMAIL, FreeTextField, LineField

COORDINATE = 32
_DECIMAL_TEXT = re.compile(r"-?\d{1,3}(\.\d+)?", re.ASCII)


def _country(label: str) -> Any:
    return models.ForeignKey(
        "reference.Country",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=label,
    )


class Customer(SiteRecord):
    """A business to which the site sells."""

    ENTITY = Entity.CUSTOMER
    SEARCHED: ClassVar[tuple[str, ...]] = (
        "name_key",
        "code_key",
        "physical_address_city",
        "telephone",
        "postal_address_city",
        "note",
    )
    HISTORY_CHILDREN: ClassVar[tuple[str, ...]] = ("party_contacts",)
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = (*SiteRecord.HISTORY_EXCLUDE, "name_key", "code_key")

    name = LineField(blank=False)
    name_key = FoldedField("name")
    code = LineField()
    code_key = FoldedField("code")
    postal_address_street = FreeTextField()
    postal_address_city = LineField()
    postal_address_state = LineField()
    postal_address_po_box = LineField("postal address PO box")
    postal_address_country = _country("postal address country")
    physical_address_street = FreeTextField()
    physical_address_city = LineField()
    physical_address_state = LineField()
    physical_address_po_box = LineField("physical address PO box")
    physical_address_country = _country("physical address country")
    telephone = LineField()
    fax = LineField()
    ddi = LineField("direct dial")
    note = FreeTextField()
    # Decimal numbers as text, so that a coordinate is read back with exactly the digits that were sent.
    lng = LineField("longitude", max_length=COORDINATE)
    lat = LineField("latitude", max_length=COORDINATE)

    class Meta:
        ordering = ("site_sequence_id", "id")
        constraints = site_record_constraints("customer")
        indexes = (
            models.Index(
                fields=("site", "name_key", "code_key", "id"),
                opclasses=["uuid_ops", "varchar_pattern_ops", "varchar_pattern_ops", "uuid_ops"],
                name="customer_by_name",
            ),
            models.Index(
                fields=("site", "code_key"), opclasses=["uuid_ops", "varchar_pattern_ops"], name="customer_by_code"
            ),
            models.Index(fields=("site", "name", "id"), name="customer_in_order_of_name"),
            models.Index(fields=("site", "last_modified", "id"), name="customer_by_last_modified"),
        )
        permissions = (
            ("archive_customer", "Can archive and restore customers"),
            ("erase_contact", "Can erase who a contact is"),
        )

    def clean(self) -> None:
        """Check that both coordinates are given and valid, or neither (DECISIONS 1.11)."""
        faults = {}
        for name, limit in (("lat", 90), ("lng", 180)):
            text = getattr(self, name)
            if text and not (_DECIMAL_TEXT.fullmatch(text) and abs(Decimal(text)) <= limit):
                message = gettext("This must be a decimal number from -%(limit)s to %(limit)s, such as 51.5072.") % {
                    "limit": limit
                }
                faults[name] = ValidationError(message, code="InvalidValue")
            elif not text and (self.lat or self.lng):
                faults[name] = ValidationError(gettext("Give both Lat and Lng, or neither."), code="RequiredField")
        if faults:
            raise ValidationError(faults)


class PartyContact(ChildRow):
    """A contact of a customer."""

    customer = models.ForeignKey(Customer, models.CASCADE, related_name="party_contacts", db_index=False)
    title = models.ForeignKey("reference.Title", models.PROTECT, null=True, blank=True, related_name="+")
    first_name = LineField()
    last_name = LineField()
    position = LineField()
    email = models.EmailField("e-mail address", max_length=EMAIL, blank=True)
    phone = LineField()

    SEARCHED: ClassVar[tuple[str, ...]] = ("first_name", "last_name", "email", "phone")
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("customer",)

    class Meta(ChildRow.Meta):
        verbose_name = "contact"
        indexes = (models.Index(fields=("customer", "idx"), name="contact_of_customer"),)

    def __str__(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()
