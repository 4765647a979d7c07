"""The operations of the employee endpoint; start reading here."""

from records.employees import examples
from records.employees.serializers import EmployeeChangeSerializer, EmployeeSerializer, JobDescriptionSerializer
from records.employees.views import EmployeeViewSet
from records.operations.operation import (
    MANAGER,
    READER,
    SITE_ADMINISTRATOR,
    Parameter,
    adds,
    declare_permission,
    lists,
    operation_urls,
    reads,
    updates,
)

declare_permission("employees.view_private_employee", MANAGER)
declare_permission("employees.archive_employee", MANAGER)
declare_permission("employees.erase_private_employee", SITE_ADMINISTRATOR)
declare_permission("employees.change_jobdescription", MANAGER)
declare_permission("employees.view_course", READER)
declare_permission("employees.add_course", MANAGER)
declare_permission("employees.change_course", MANAGER)
declare_permission("employees.archive_jobdescription", MANAGER)

urlpatterns = operation_urls(
    EmployeeViewSet,
    adds("AddEmployee", MANAGER, EmployeeSerializer, examples.ADD_EMPLOYEE),
    updates("UpdateEmployee", MANAGER, EmployeeChangeSerializer, examples.UPDATE_EMPLOYEE),
    reads("GetEmployee", EmployeeSerializer, examples.GET_EMPLOYEE),
    lists(
        "GetEmployeeList",
        EmployeeSerializer,
        examples.GET_EMPLOYEE_LIST,
        Parameter("code"),
        Parameter("emailAddress"),
        Parameter("reportingToId", "id"),
        Parameter("natureOfEmploymentId", "id"),
    ),
    adds("AddJobDescription", MANAGER, JobDescriptionSerializer, examples.ADD_JOB_DESCRIPTION),
    reads("GetJobDescription", JobDescriptionSerializer, examples.GET_JOB_DESCRIPTION),
    lists(
        "GetJobDescriptionList",
        JobDescriptionSerializer,
        examples.GET_JOB_DESCRIPTION_LIST,
        Parameter("employeeId", "id", "employees"),
        Parameter("department"),
    ),
)
