"""The employee endpoint: reads are handled here, writes call the actions."""

import uuid
from collections.abc import Collection
from functools import partial

from django.db.models import Model
from django.http import HttpResponse
from rest_framework.request import Request

from records.employees import actions
from records.employees.models import Employee
from records.employees.serializers import EmployeeChangeSerializer, EmployeeSerializer, JobDescriptionSerializer
from records.operations.lists import ListRules
from records.operations.viewsets import Check, OperationViewSet
from records.sites.writing import Values

EMPLOYEES = ListRules(search=("first_name", "last_name", "code", "position"))
JOB_DESCRIPTIONS = ListRules(search=("name", "code", "department"))


class EmployeeViewSet(OperationViewSet):
    """Employees and job descriptions of the caller's site."""

    def checks_of_action(self, record: Model, values: Values, faulty: Collection[str]) -> list[Check]:
        """Return the checks of an employee's address and superior."""
        if not isinstance(record, Employee):
            return []
        return [
            partial(actions.check_new_address, record, values),
            partial(actions.check_reporting_to, record, self.site_id, values),
        ]

    def add_employee(self, request: Request) -> HttpResponse:
        """Add an employee with education, training and employment history."""
        return self.add_record(EmployeeSerializer, actions.add_employee)

    def update_employee(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Change an employee: an absent optional field stays, an array that is present is the whole new one."""
        return self.update_record(EmployeeChangeSerializer, actions.update_employee, id)

    def get_employee(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one employee; private fields are empty unless the caller's roles show them."""
        return self.record(EmployeeSerializer, id)

    def get_employee_list(self, request: Request) -> HttpResponse:
        """List the site's employees."""
        return self.listing(EmployeeSerializer, EMPLOYEES)

    def add_job_description(self, request: Request) -> HttpResponse:
        """Add a job description with the employees who hold it."""
        return self.add_record(JobDescriptionSerializer, actions.add_job_description)

    def get_job_description(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one job description."""
        return self.record(JobDescriptionSerializer, id)

    def get_job_description_list(self, request: Request) -> HttpResponse:
        """List the site's job descriptions."""
        return self.listing(JobDescriptionSerializer, JOB_DESCRIPTIONS)
