"""The import and export of employees and job descriptions."""

from collections.abc import Sequence

from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.backoffice.transfer.rows import Row
from records.employees import actions
from records.employees.models import Employee, JobDescription
from records.employees.serializers import EmployeeSerializer, JobDescriptionSerializer
from records.operations.tables import WireTable


@transferable
class EmployeeResource(RecordResource):
    """Employees. Private columns are included only for people whose roles allow it."""

    model = Employee
    table = WireTable(EmployeeSerializer)
    add_action = staticmethod(actions.add_employee)
    update_action = staticmethod(actions.update_employee)

    def write(self, rows: Sequence[Row]) -> None:
        """Write the rows; if one of them names a superior, no other transaction can set a superior meanwhile."""
        if any(row.values.get("reporting_to") for row in rows):
            actions.lock_reporting()
        super().write(rows)


@transferable
class JobDescriptionResource(RecordResource):
    """Job descriptions, with the employees who hold them."""

    model = JobDescription
    table = WireTable(JobDescriptionSerializer)
    add_action = staticmethod(actions.add_job_description)
    update_action = staticmethod(actions.update_job_description)
