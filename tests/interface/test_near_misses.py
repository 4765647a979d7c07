"""A path that nearly names an operation is a 404 that says which one (DECISIONS 1.18)."""

from collections.abc import Iterator
from typing import Any

import pytest

from records.operations.near_misses import is_near
from tests.interface.subjects import ENDPOINT_OPERATIONS, ids_of, path_of
from tests.interface.test_doors import is_error

ID = "9b2f3c44-0f3e-4d6a-8a38-5a1f2b0c7d11"


@pytest.mark.parametrize(
    ("method", "path", "operation_name"),
    [
        ("GET", "/employee/getemployeelist", "GetEmployeeList: GET /employee/GetEmployeeList"),
        ("GET", f"/employee/GetEmploye/{ID}", "GetEmployee: GET /employee/GetEmployee/<Id>"),
        ("GET", f"/Employee/GETEMPLOYEE/{ID}", "GetEmployee: GET /employee/GetEmployee/<Id>"),
        ("GET", "/employee/GetEmployee", "GetEmployee: GET /employee/GetEmployee/<Id>"),
        ("POST", "/employees/AddEmployee", "AddEmployee: POST /employee/AddEmployee"),
        ("POST", "/employee/AddEmpolyee/", "AddEmployee: POST /employee/AddEmployee"),
        ("PUT", f"/complaint/UpdateComplaintDetails/{ID}", "UpdateComplaintDetail: PUT /complaint/UpdateComplaintDeta"),
        ("GET", "/Materials/", "GetListOfMaterial: GET /materials/"),
        ("POST", "/material", "PostMaterial: POST /materials/"),
        ("GET", "/materialss/X-1", "GetMaterialById: GET /materials/<Id>"),
    ],
)
def test_the_operation_that_is_meant_is_named(method: str, path: str, operation_name: str, api: Any) -> None:
    answer = api.send(method, path)
    assert is_error(answer, 404, "NotFound")
    assert operation_name in answer.json()["Message"]


def misspellings(path: str) -> Iterator[str]:
    """Yield a path with one typing error each, in the endpoint or in the name of the operation, or in another case."""
    _, endpoint, *rest = path.split("/")
    yield from (f"/{wrong}/{'/'.join(rest)}" for wrong in (f"{endpoint}s", endpoint[:-1], endpoint.upper()))
    name, *key = rest
    if name and len(name) < 36:
        middle = len(name) // 2
        wrong_names = {name[:middle] + name[middle + 1 :], f"{name}x", f"{name[0]}{name}", name.lower(), name.upper()}
        yield from ("/".join(["", endpoint, wrong, *key]) for wrong in sorted(wrong_names))


@pytest.mark.parametrize(("operation", "viewset"), ENDPOINT_OPERATIONS, ids=ids_of(ENDPOINT_OPERATIONS))
def test_each_operation_is_named_when_its_path_is_mistyped(operation: Any, viewset: Any, api: Any) -> None:
    for path in misspellings(path_of(operation, viewset, ID)):
        for slash in ("", "/"):
            answer = api.send(operation.method, path.rstrip("/") + slash, {} if operation.writes else None)
            assert is_error(answer, 404, "NotFound"), path
            assert f"Did you mean {operation.name}: {operation.method} /" in answer.json()["Message"], (
                path,
                answer.content,
            )


@pytest.mark.parametrize("path", ["/employee/GetEverything", "/nothing", "/employee/" + "x" * 5000])
def test_a_path_that_is_near_none_names_none(path: str, api: Any) -> None:
    answer = api.get(path)
    assert is_error(answer, 404, "NotFound")
    assert answer.json()["Message"] == "There is no such path."


def test_one_error_is_a_letter_more_less_or_other_or_two_that_changed_places() -> None:
    assert all(is_near("list", other) for other in ("list", "lst", "lists", "lisd", "lits", "ilst"))
    assert not any(is_near("list", other) for other in ("ls", "listen", "tsil", "lsit1", ""))
