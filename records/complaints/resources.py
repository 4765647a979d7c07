"""The import and export of complaints."""

from collections.abc import Sequence

from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.complaints import actions, workflow
from records.complaints.models import Complaint, UnitsSold
from records.complaints.serializers import ComplaintSerializer, UnitsSoldSerializer
from records.operations.tables import WireTable
from records.sites.writing import Values


@transferable
class ComplaintResource(RecordResource):
    """Complaints. New ones await their review; only the buttons of a complaint's page change its status."""

    model = Complaint
    table = WireTable(ComplaintSerializer)
    add_action = staticmethod(actions.add_complaint_detail)

    def add_all(self, rows: Sequence[Values]) -> Sequence[Complaint]:
        """Add complaints that await their review."""
        return actions.import_complaints(
            self.site_id, rows, author=self.author, operation="AddComplaintDetail", reason=self.reason
        )

    def change(self, record: Complaint, values: Values) -> Complaint:
        """Change a submitted complaint or a draft."""
        if record.is_draft:
            return workflow.update_draft(self.site_id, record.pk, values, author=self.author, reason=self.reason)
        return actions.update_complaint_detail(
            self.site_id,
            record.pk,
            values,
            author=self.author,
            may_change_completed=self.may("complaints.complete_complaint"),
            reason=self.reason,
        )


@transferable
class UnitsSoldResource(RecordResource):
    """Units sold; a row without Id changes the entry of its month, if there is one."""

    model = UnitsSold
    table = WireTable(UnitsSoldSerializer)
    key = "Month"
    add_action = staticmethod(actions.add_units_sold)
    update_action = staticmethod(actions.update_units_sold)
