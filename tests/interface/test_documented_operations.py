"""The operation table is the interface document's, both ways."""

import pytest

from records.accounts.models import DefaultRole
from records.operations import operation
from tests.interface.subjects import ENDPOINTS, OPERATIONS

METHODS = {
    "employee": {
        "AddEmployee": "POST",
        "AddJobDescription": "POST",
        "GetEmployee": "GET",
        "GetEmployeeList": "GET",
        "GetJobDescription": "GET",
        "GetJobDescriptionList": "GET",
        "UpdateEmployee": "PUT",
    },
    "complaint": {
        "AddComplaintDetail": "POST",
        "GetComplaint": "GET",
        "GetComplaintList": "GET",
        "UpdateComplaintDetail": "PUT",
    },
    "document": {
        "AddDocument": "POST",
        "GetDocument": "GET",
        "GetDocumentVersion": "GET",
        "GetDocumentList": "GET",
        "UpdateDocument": "PUT",
    },
    "action": {"AddAction": "POST", "GetAction": "GET", "GetActionList": "GET", "UpdateAction": "PUT"},
    "attachment": {"AddAttachment": "POST", "GetAttachment": "GET", "GetAttachmentList": "GET"},
    "change": {"GetChangeList": "GET"},
    "item": {"AddItem": "POST", "GetItem": "GET", "GetItemList": "GET", "UpdateItem": "PUT"},
    "customer": {"AddCustomer": "POST", "GetCustomer": "GET", "GetCustomerList": "GET", "UpdateCustomer": "PUT"},
    "audit": {"GetAuditProgram": "GET", "GetAuditProgramList": "GET", "GetAuditProgramRecordList": "GET"},
}


def declared_methods() -> dict[str, dict[str, str]]:
    """Return the declared operations by endpoint."""
    methods: dict[str, dict[str, str]] = {}
    for row, viewset in OPERATIONS:
        methods.setdefault(ENDPOINTS.get(viewset, "").strip("/"), {})[row.name] = row.method
    return methods


@pytest.mark.parametrize("endpoint", METHODS)
def test_every_documented_operation_is_declared_with_its_method(endpoint: str) -> None:
    assert declared_methods().get(endpoint, {}).items() >= METHODS[endpoint].items()


@pytest.mark.parametrize("endpoint", METHODS)
def test_no_operation_is_declared_that_the_document_does_not_name(endpoint: str) -> None:
    assert declared_methods().get(endpoint, {}).keys() <= METHODS[endpoint].keys()


def test_operations_are_in_the_order_of_the_endpoints_whichever_was_loaded_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packages = list(dict.fromkeys(viewset.__module__ for _, viewset in OPERATIONS))
    operations = sorted(OPERATIONS, key=lambda one: packages.index(one[1].__module__), reverse=True)
    monkeypatch.setattr(operation, "_operations", operations)
    assert [viewset.__module__ for _, viewset in operations] != [viewset.__module__ for _, viewset in OPERATIONS]
    assert [(row.name, viewset) for row, viewset in operation.all_operations()] == [
        (row.name, viewset) for row, viewset in OPERATIONS
    ]


STANDARD = {"AddComplaintDetail", "UpdateComplaintDetail", "AddAction", "UpdateAction", "AddAttachment"}
"""The operations that write and that Standard may call. Every role may read, and Managers may do all else."""


def test_the_lowest_role_of_each_operation_is_the_documented_one() -> None:
    lowest = {operation.name: DefaultRole(operation.role) for operation, _ in OPERATIONS if operation.writes}
    assert {name for name, role in lowest.items() if role == DefaultRole.STANDARD} == STANDARD
    assert {role for name, role in lowest.items() if name not in STANDARD} == {DefaultRole.MANAGER}
    assert {DefaultRole(operation.role) for operation, _ in OPERATIONS if not operation.writes} == {DefaultRole.READER}
