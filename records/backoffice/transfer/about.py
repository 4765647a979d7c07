"""The export of rows that are about other records, such as actions and attachments."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet

from records.backoffice.transfer.resources import RecordResource
from records.sites.about import findings_called, names_of
from records.sites.models import permission_on


class AboutResource(RecordResource):
    """The export of such rows, with the names of those records and findings that the user may see."""

    can_import: ClassVar[bool] = False

    def describe(self, values: Sequence[dict[str, Any]]) -> None:
        """Put the names of the records and the questions of the findings in place of their Ids."""

        def visible_rows(rows: QuerySet[Any]) -> QuerySet[Any]:
            return self.names.visible_rows(rows) if self.may(permission_on(rows.model)) else rows.none()

        records, findings = ({row[name] for row in values} - {None} for name in ("RecordId", "FindingId"))
        names, questions = (
            names_of(self.site_id, records, visible_rows),
            findings_called(self.site_id, findings, visible_rows),
        )
        kinds = dict(self.model._base_manager.filter(pk__in=[row["Id"] for row in values]).values_list("pk", "entity"))
        for row in values:
            row["RecordId"] = names.get((kinds[row["Id"]], row["RecordId"]), "")
            row["FindingId"] = questions.get(row["FindingId"], "")
