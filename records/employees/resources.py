"""The import and export of employees and job descriptions."""

from collections.abc import Sequence

from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.backoffice.transfer.rows import Row
from records.employees import actions
from records.employees.models import Employee, JobDescription
from records.employees.serializers import EmployeeSerializer, JobDescriptionSerializer
from records.operations.tables import WireTable
from records.sites.writing import Values


@transferable
class EmployeeResource(RecordResource):
    """Employees; private columns are for those whose roles show them."""

    model = Employee
    table = WireTable(EmployeeSerializer)

    def write(self, rows: Sequence[Row]) -> None:
        """Write the rows; where one names a superior, none comes between the first and the last of them."""
        if any(row.values.get("reporting_to") for row in rows):
            actions.hold_reporting()
        super().write(rows)

    def add(self, values: Values) -> Employee:
        """Add an employee."""
        return actions.add_employee(self.site_id, values, author=self.author, reason=self.reason)

    def change(self, record: Employee, values: Values) -> Employee:
        """Change an employee."""
        return actions.update_employee(self.site_id, record.pk, values, author=self.author, reason=self.reason)


@transferable
class JobDescriptionResource(RecordResource):
    """Job descriptions with who holds them."""

    model = JobDescription
    table = WireTable(JobDescriptionSerializer)

    def add(self, values: Values) -> JobDescription:
        """Add a job description."""
        return actions.add_job_description(self.site_id, values, author=self.author, reason=self.reason)

    def change(self, record: JobDescription, values: Values) -> JobDescription:
        """Change a job description."""
        return actions.update_job_description(self.site_id, record.pk, values, author=self.author, reason=self.reason)
