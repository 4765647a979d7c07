"""How long a site keeps records of a kind at least. A legal hold has no table: the history says whether it is set."""

import uuid
from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from records.history.trail import now
from records.sites.models import Entity, Site, SiteRows

SET_HOLD, LIFT_HOLD = "retention.set_hold", "retention.lift_hold"
LONGEST = 1200
"""The longest period in months: a hundred years."""


class RetentionPeriod(models.Model):
    """The months for which a site keeps each record of a kind at least, from the day on which it was entered."""

    HISTORY_PROVES_ROWS: ClassVar[bool] = True
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("site", "created", "last_modified")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey(Site, models.PROTECT, related_name="+", db_index=False, editable=False)
    entity = models.CharField("kind of record", max_length=20, choices=Entity.choices)
    months = models.PositiveSmallIntegerField(
        "keep at least (months)",
        validators=[MinValueValidator(1), MaxValueValidator(LONGEST)],
        help_text=_("Counted from the day on which a record was entered. Nothing is deleted when the period ends."),
    )
    is_archived = models.BooleanField("archived", default=False, editable=False)
    created = models.DateTimeField(default=now, editable=False)
    last_modified = models.DateTimeField(default=now, editable=False)

    objects = SiteRows.as_manager()

    class Meta:
        ordering = ("entity", "id")
        default_permissions = ("view", "add", "change")
        permissions = (
            ("set_hold", "Can put records on legal hold"),
            ("lift_hold", "Can lift legal holds"),
        )
        constraints = (models.UniqueConstraint(fields=("site", "entity"), name="one_period_per_site_and_entity"),)

    def __str__(self) -> str:
        return ngettext("%(kind)s: at least %(months)s month", "%(kind)s: at least %(months)s months", self.months) % {
            "kind": self.get_entity_display(),
            "months": self.months,
        }
