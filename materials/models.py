"""Materials that a site buys and uses, synchronised with an ERP system by the identifiers of that system."""

from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Upper
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.sites.models import Entity, SiteRecord, site_record_constraints
from records.sites.text import NAME, REASON, FreeTextField, LineField, normalise

MOST_COUNTRIES = 300

SORT_KEYS = {
    "external_id": "externalid",
    "name": "name",
    "site_sequence_id": "number",
    "our_code": "ourcode",
    "supplier_code": "suppliercode",
    "material_category": "category",
    "entity_folder": "folder",
    "risk": "risk",
    "created": "created",
    "last_modified": "modified",
}
"""The columns besides the Id by which a list can be sorted, with the indexes that serve both directions."""


class Risk(models.TextChoices):
    """How much harm a material can do; empty if nobody has assessed it yet (DECISIONS 3)."""

    NONE = "None", _("None")
    LOW = "Low", _("Low")
    MEDIUM = "Medium", _("Medium")
    HIGH = "High", _("High")


def are_countries(value: object) -> None:
    """Raise ValidationError unless the value is a list of at most 300 short texts that can be stored as text."""
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ValidationError(gettext("This must be a list of texts."), code="InvalidValue")
    if len(value) > MOST_COUNTRIES:
        raise ValidationError(
            gettext("At most %(most_countries)s countries are kept.") % {"most_countries": MOST_COUNTRIES},
            code="ValueTooLong",
        )
    if any(len(normalise(entry)) > NAME for entry in value):
        raise ValidationError(
            gettext("A country has at most %(name)s characters.") % {"name": NAME}, code="ValueTooLong"
        )


class Material(SiteRecord):
    """A raw material, ingredient or packaging of a site, which the site's ERP system identifies by the external id.

    A non-empty external id is unique at the site, including archived materials, so that a material that comes back is
    the same record. `reason_for_change` is the reason for the last change; the history stores it as well.
    """

    ENTITY = Entity.MATERIAL
    SEARCHED: ClassVar[tuple[str, ...]] = ("name", "external_id", "our_code", "supplier_code", "description")
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = (*SiteRecord.HISTORY_EXCLUDE, "reason_for_change")

    external_id = LineField("external id")
    name = LineField()
    our_code = LineField()
    supplier_code = LineField()
    description = FreeTextField()
    material_category = models.ForeignKey(
        "reference.MaterialCategory",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        verbose_name="category",
    )
    country_of_origin = models.JSONField("countries of origin", default=list, blank=True, validators=[are_countries])
    risk = models.CharField(max_length=10, choices=Risk.choices, blank=True, default="")
    reason_for_change = models.CharField(max_length=REASON, blank=True, default="", editable=False)

    class Meta:
        ordering = ("site_sequence_id", "id")
        constraints = (
            *site_record_constraints("material"),
            models.UniqueConstraint(
                fields=("site", "external_id"),
                condition=~Q(external_id=""),
                name="material_external_id_once_per_site",
                violation_error_code="Duplicate",
                violation_error_message=_("Another material of the site has this external id."),
            ),
        )
        indexes = (
            models.Index(fields=("site", "is_archived", "id"), name="material_by_id"),
            *(
                models.Index(fields=("site", "is_archived", field, "id"), name=f"material_by_{name}")
                for field, name in SORT_KEYS.items()
            ),
            models.Index("site", Upper("external_id"), name="material_external_id_any_case"),
        )
        permissions = (("archive_material", "Can archive and restore materials"),)

    def __str__(self) -> str:
        return self.name or self.external_id or f"Material {self.site_sequence_id}"
