"""The import and export of materials."""

from collections.abc import Sequence
from functools import partial

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.utils.translation import gettext

from materials import upserts
from materials.models import Material
from materials.serializers import MaterialSerializer
from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.backoffice.transfer.rows import Row
from records.operations.tables import WireTable


@transferable
class MaterialResource(RecordResource):
    """Materials. A row without an Id changes the material that has its externalId, or adds one if there is none."""

    model = Material
    table = WireTable(MaterialSerializer)
    key = "externalId"

    def write(self, rows: Sequence[Row]) -> None:
        """Write all rows in a constant number of statements, in the same way as an ERP system's upsert."""
        if not rows:
            return
        desired = [
            upserts.DesiredMaterial(row.values, None if row.is_new else row.target.pk, self.reason) for row in rows
        ]
        try:
            outcomes = upserts.retry_on_race(
                partial(
                    upserts.upsert_all,
                    self.site_id,
                    desired,
                    author=self.author,
                    may=self.may,
                    operation="ImportMaterial",
                )
            )
        except IntegrityError as raced:
            rows[0].faults += self.sentences(raced)
            return
        for row, outcome in zip(rows, outcomes, strict=True):
            if isinstance(outcome, upserts.StoredMaterial):
                row.record = outcome.material
                if outcome.stays_archived and outcome.outcome == "Changed":
                    row.faults.append(gettext("This material is archived. Restore it before you change it."))
            elif isinstance(outcome, PermissionDenied) and "is_archived" in row.values:
                row.faults.append(gettext("isArchived: You may not archive or restore materials."))
            else:
                row.faults += self.sentences(outcome)
