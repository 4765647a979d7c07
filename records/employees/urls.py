"""The operations of the employee endpoint; start reading here."""

from records.employees import examples
from records.employees.serializers import EmployeeChangeSerializer, EmployeeSerializer, JobDescriptionSerializer
from records.employees.views import EmployeeViewSet
from records.operations.operation import (
    MANAGER,
    READER,
    SITE_ADMINISTRATOR,
    Operation,
    Parameter,
    operation_urls,
    permits,
)
from records.operations.schema import WriteResult

permits("employees.view_private_employee", MANAGER)
permits("employees.archive_employee", MANAGER)
permits("employees.erase_private_employee", SITE_ADMINISTRATOR)
permits("employees.change_jobdescription", MANAGER)
permits("employees.view_course", READER)
permits("employees.add_course", MANAGER)
permits("employees.change_course", MANAGER)
permits("employees.archive_jobdescription", MANAGER)

urlpatterns = operation_urls(
    EmployeeViewSet,
    Operation(
        method="POST",
        name="AddEmployee",
        permission="employees.add_employee",
        role=MANAGER,
        request=EmployeeSerializer,
        response=WriteResult,
        examples=examples.ADD_EMPLOYEE,
    ),
    Operation(
        method="PUT",
        name="UpdateEmployee",
        permission="employees.change_employee",
        role=MANAGER,
        takes_id=True,
        request=EmployeeChangeSerializer,
        response=WriteResult,
        examples=examples.UPDATE_EMPLOYEE,
    ),
    Operation(
        method="GET",
        name="GetEmployee",
        permission="employees.view_employee",
        role=READER,
        takes_id=True,
        response=EmployeeSerializer,
        examples=examples.GET_EMPLOYEE,
    ),
    Operation(
        method="GET",
        name="GetEmployeeList",
        permission="employees.view_employee",
        role=READER,
        many=True,
        response=EmployeeSerializer,
        parameters=(
            Parameter("code"),
            Parameter("emailAddress"),
            Parameter("reportingToId", "id"),
            Parameter("natureOfEmploymentId", "id"),
        ),
        examples=examples.GET_EMPLOYEE_LIST,
    ),
    Operation(
        method="POST",
        name="AddJobDescription",
        permission="employees.add_jobdescription",
        role=MANAGER,
        request=JobDescriptionSerializer,
        response=WriteResult,
        examples=examples.ADD_JOB_DESCRIPTION,
    ),
    Operation(
        method="GET",
        name="GetJobDescription",
        permission="employees.view_jobdescription",
        role=READER,
        takes_id=True,
        response=JobDescriptionSerializer,
        examples=examples.GET_JOB_DESCRIPTION,
    ),
    Operation(
        method="GET",
        name="GetJobDescriptionList",
        permission="employees.view_jobdescription",
        role=READER,
        many=True,
        response=JobDescriptionSerializer,
        parameters=(Parameter("employeeId", "id", "employees"), Parameter("department")),
        examples=examples.GET_JOB_DESCRIPTION_LIST,
    ),
)
