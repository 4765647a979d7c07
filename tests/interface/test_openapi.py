"""The OpenAPI document: valid, complete, and served without credential."""

import json
import re
from typing import Any
from unittest.mock import patch

import pytest
from drf_spectacular.generators import SchemaGenerator
from openapi_schema_validator import OAS30ReadValidator, OAS30WriteValidator, oas30_format_checker
from openapi_spec_validator import validate

from tests import make
from tests.conftest import Api
from tests.interface.subjects import ENDPOINT_OPERATIONS, KEY_OPERATIONS, ids_of, path_of, record_for

BODIES = [entry for entry in ENDPOINT_OPERATIONS if entry[0].request is not None]
READS = [entry for entry in ENDPOINT_OPERATIONS if entry[0].method == "GET" and entry[0].takes_id and not entry[0].many]


def writes(shape: Any) -> OAS30WriteValidator:
    """Return what holds a body against a shape, formats included."""
    return OAS30WriteValidator(shape, format_checker=oas30_format_checker)


@pytest.fixture(scope="module")
def document() -> Any:
    """Return the document as the product makes it."""
    return json.loads(json.dumps(SchemaGenerator().get_schema(public=True), default=str))


def test_the_document_is_valid(document: Any) -> None:
    validate(document)


@pytest.mark.parametrize(("operation", "viewset"), KEY_OPERATIONS, ids=ids_of(KEY_OPERATIONS))
def test_each_row_is_in_the_document(operation: Any, viewset: Any, document: Any) -> None:
    entry = document["paths"][path_of(operation, viewset, "{id}")][operation.method.lower()]
    assert entry["operationId"] == operation.name
    assert ("requestBody" in entry) == (operation.request is not None)
    assert {"subscriptionKey": []} in entry["security"]
    parameters = {parameter["name"] for parameter in entry.get("parameters", ())}
    assert {parameter.name for parameter in operation.parameters} <= parameters
    assert {"400", "401", "403", "429"} <= entry["responses"].keys()
    if operation.many:
        assert {"startIndex", "limit", "sort", "order", "search"} <= parameters
        assert entry["responses"]["200"]["content"]["application/json"]["schema"]["type"] == "array"


def test_an_answer_always_has_all_its_fields(document: Any) -> None:
    shape = document["components"]["schemas"]["Employee"]
    assert set(shape["required"]) == set(shape["properties"])
    assert shape["properties"]["TitleId"]["nullable"]
    assert "nullable" not in shape["properties"]["FirstName"]


def test_only_records_that_lie_in_folders_are_listed_by_folder(document: Any) -> None:
    lists = [(operation, viewset) for operation, viewset in ENDPOINT_OPERATIONS if operation.many]
    names = {
        operation.name
        for operation, viewset in lists
        for parameter in document["paths"][path_of(operation, viewset, "{id}")]["get"]["parameters"]
        if parameter["name"] == "entityFolderId"
    }
    assert {"GetComplaintList", "GetAuditProgramRecordList", "GetListOfMaterial"} <= names
    assert not [name for name in names if name in ("GetActionList", "GetAttachmentList", "GetFolderList")]


def test_the_id_of_a_material_is_never_null(document: Any) -> None:
    assert "nullable" not in document["components"]["schemas"]["Material"]["properties"]["Id"]


@pytest.mark.parametrize(
    "path", ["/employee/GetEmployeeList", "/category/GetCountryList", "/attachment/GetAttachmentList"]
)
def test_a_list_takes_what_the_document_offers_and_no_more(path: str, api: Any, document: Any) -> None:
    parameters = document["paths"][path]["get"]["parameters"]
    parameters_by_name = {parameter["name"]: parameter["schema"] for parameter in parameters}
    for name in parameters_by_name["sort"]["enum"]:
        assert api.get(path, {"sort": name, "limit": 1}).status_code == 200, name
    usual = [row["Id"] for row in api.get(path).json()]
    defaults = {name: parameters_by_name[name]["default"] for name in ("sort", "order", "startIndex", "limit")}
    assert [row["Id"] for row in api.get(path, defaults).json()] == usual
    for name in ("startIndex", "limit"):
        assert api.get(path, {name: parameters_by_name[name]["minimum"] - 1}).status_code == 400
        assert api.get(path, {name: parameters_by_name[name]["maximum"]}).status_code == 200
        assert api.get(path, {name: parameters_by_name[name]["maximum"] + 1}).status_code == 400


def test_the_feed_says_how_many_rows_may_be_asked_for(api: Any, document: Any) -> None:
    parameters = document["paths"]["/change/GetChangeList"]["get"]["parameters"]
    [limit] = [parameter["schema"] for parameter in parameters if parameter["name"] == "limit"]
    for number, status in ((limit["minimum"] - 1, 400), (limit["maximum"], 200), (limit["maximum"] + 1, 400)):
        assert api.get("/change/GetChangeList", {"limit": number}).status_code == status, number


def test_answers_carry_the_headers_that_the_document_names(api: Any, document: Any) -> None:
    item = api.post("/item/AddItem", {"Name": "Scale"})
    api.post("/item/AddItem", {"Name": "Probe"})
    for path, answer in (
        ("/item/GetItemList", api.get("/item/GetItemList", {"limit": 1})),
        ("/item/GetItem/{id}", api.get(f"/item/GetItem/{item.json()['Id']}")),
        ("/item/GetItemList", Api().get("/item/GetItemList")),
    ):
        headers = document["paths"][path]["get"]["responses"][str(answer.status_code)]["headers"]
        assert headers.keys() <= set(answer.headers)
        assert all(header["schema"] for header in headers.values())
    assert "ETag" in document["paths"]["/item/AddItem"]["post"]["responses"]["200"]["headers"]
    assert "ETag" in item.headers


def test_arrays_of_a_body_say_how_long_they_may_be(api: Any, document: Any) -> None:
    shapes = document["components"]["schemas"]
    rows = shapes["EmployeeRequest"]["properties"]["EducationTraining"]["maxItems"]
    ids = shapes["JobDescriptionRequest"]["properties"]["Employee"]["maxItems"]
    body = make.employee_body(EducationTraining=[{}] * (rows + 1))
    assert api.post("/employee/AddEmployee", body).json()["Fields"][0]["Code"] == "ValueTooLong"
    body = {"Name": "Baker", "Employee": [{"Id": str(api.key.user.pk)}] * (ids + 1)}
    assert api.post("/employee/AddJobDescription", body).json()["Fields"][0]["Code"] == "ValueTooLong"
    assert "maxItems" not in shapes["Employee"]["properties"]["EducationTraining"]


def test_a_body_has_no_other_fields_and_its_rows_can_carry_their_id(document: Any) -> None:
    shapes = document["components"]["schemas"]
    bodies = {name: shape for name, shape in shapes.items() if name.endswith("Request")}
    assert all(shape["additionalProperties"] is False for shape in bodies.values())
    for name in ("EducationTraining", "EmploymentHistory", "PartyContact"):
        uuid, empty = bodies[f"{name}Request"]["properties"]["Id"]["anyOf"]
        assert uuid == {"type": "string", "format": "uuid", "nullable": True}
        assert empty == {"type": "string", "maxLength": 0}
        assert shapes[name]["properties"]["Id"] == {"type": "string", "format": "uuid"}
        assert set(shapes[name]["required"]) == set(shapes[name]["properties"])


@pytest.mark.parametrize(("operation", "viewset"), BODIES, ids=ids_of(BODIES))
def test_a_body_is_cleared_with_what_the_document_allows(operation: Any, viewset: Any, document: Any) -> None:
    entry = document["paths"][path_of(operation, viewset, "{id}")][operation.method.lower()]
    content = entry["requestBody"]["content"]["application/json"]["schema"]
    shape = document["components"]["schemas"][content.get("oneOf", [content])[0]["$ref"].rpartition("/")[2]]
    for name, one in shape["properties"].items():
        for value in (None, ""):
            faults = [fault for fault in operation.request.read_body({name: value})[1] if fault.field == name]
            if writes({**one, "components": document["components"]}).is_valid(value):
                assert not faults, (name, value, faults)


def test_ids_and_dates_are_cleared_with_an_empty_text_and_arrays_with_null(api: Any, document: Any) -> None:
    empty_values = {"TitleId": "", "DateOfBirth": "", "ReportingToId": None, "EducationTraining": None, "Notes": None}
    row = {"Id": "", "Company": None, "StartDate": "", "FinishDate": None}
    body = make.employee_body(**empty_values, EmploymentHistory=[row])
    shape = {**document["components"]["schemas"]["EmployeeRequest"], "components": document["components"]}
    assert [fault.message for fault in writes(shape).iter_errors(body)] == []
    assert api.post("/employee/AddEmployee", body).status_code == 200
    for name in ("CustomerId", "ReasonForChange"):
        required = document["components"]["schemas"]["ComplaintChangeRequest"]["properties"][name]
        assert not writes(required).is_valid("")
        assert not writes(required).is_valid(None)


@pytest.mark.parametrize(("operation", "viewset"), READS, ids=ids_of(READS))
def test_an_answer_is_as_the_document_says(operation: Any, viewset: Any, api: Any, document: Any) -> None:
    response = document["paths"][path_of(operation, viewset, "{id}")]["get"]["responses"]["200"]
    shape = {**response["content"]["application/json"]["schema"], "components": document["components"]}
    answer = api.get(path_of(operation, viewset, str(record_for(operation, api.key.site).pk)))
    assert answer.status_code == 200, answer.content
    assert [fault.message for fault in OAS30ReadValidator(shape).iter_errors(answer.json())] == []


def test_the_document_and_its_page_need_no_credential(db: None) -> None:
    for path in ("/openapi.yaml", "/openapi.json", "/docs/"):
        assert Api().get(path, Accept="*/*").status_code == 200
    assert json.loads(Api().get("/openapi.json").content)["openapi"].startswith("3.")


@pytest.mark.parametrize("path", ["/openapi.json", "/openapi.yaml"])
def test_the_document_is_made_once_and_not_sent_again_to_whoever_has_it(path: str) -> None:
    first = Api().get(path)
    assert first.status_code == 200
    with patch("drf_spectacular.generators.SchemaGenerator.get_schema", side_effect=AssertionError):
        assert Api().get(path).content == first.content
        again = Api().get(path, None, **{"If-None-Match": f"W/{first['ETag']}"})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])


def test_a_reader_of_the_document_finds_all_that_it_names(document: Any) -> None:
    text = json.dumps(document)
    assert "DECISIONS" not in text
    assert "(?" not in text
    operations = [one for path in document["paths"].values() for one in path.values()]
    assert {tag["name"] for tag in document["tags"]} == {tag for one in operations for tag in one["tags"]}
    assert document["servers"]
    assert document["info"]["license"]["name"]
    assert all(f'"#/components/schemas/{name}"' in text for name in document["components"]["schemas"])


def test_a_read_says_which_fields_are_empty_for_some_of_its_callers(document: Any) -> None:
    notes = {
        one["operationId"]: match[0]
        for path in document["paths"].values()
        for one in path.values()
        if (match := re.search("Empty below .*", one["description"]))
    }
    employee = "Empty below Manager: Address, DateOfBirth, Mobile, NationalityId, Notes, Phone."
    assert notes["GetEmployee"] == notes["GetEmployeeList"] == employee
    assert notes["GetComplaint"] == notes["GetComplaintList"]
    assert notes["GetComplaint"].startswith("Empty below Standard: ConsumerAddress, ConsumerEmail, ")
    assert notes["GetUserList"] == "Empty below Manager: EmailAddress."
    assert len(notes) == 5


def test_an_add_leads_to_the_operations_that_read_and_change_the_record(document: Any) -> None:
    operations = {one["operationId"]: one for path in document["paths"].values() for one in path.values()}
    for name, reads in (("AddItem", "GetItem"), ("AddComplaintDetail", "GetComplaint"), ("AddDocument", "GetDocument")):
        links = operations[name]["responses"]["200"]["links"]
        assert links[reads]["parameters"] == {"id": "$response.body#/Id"}
        assert f"Update{name.removeprefix('Add')}" in links
    for entry in operations.values():
        assert entry["responses"]["200"].get("links", {}).keys() <= operations.keys()


def test_a_list_leads_to_its_first_record_and_a_record_to_its_change_under_the_tag(document: Any) -> None:
    operations = {one["operationId"]: one for path in document["paths"].values() for one in path.values()}
    for name, target, parameters in (
        ("GetItemList", "GetItem", {"id": "$response.body#/0/Id"}),
        ("GetAuditProgramList", "GetAuditProgramRecordList", {"id": "$response.body#/0/Id"}),
        ("GetItem", "UpdateItem", {"id": "$response.body#/Id", "header.If-Match": "$response.header.ETag"}),
        ("PostMaterial", "DeleteMaterial", {"id": "$response.body#/Id", "siteId": "$request.query.siteId"}),
    ):
        assert operations[name]["responses"]["200"]["links"][target]["parameters"] == parameters


def test_a_read_says_that_it_is_304_to_whoever_has_the_record(document: Any) -> None:
    entry = document["paths"]["/item/GetItem/{id}"]["get"]
    assert "If-None-Match" in {parameter["name"] for parameter in entry["parameters"]}
    assert "content" not in entry["responses"]["304"]
    assert "304" not in document["paths"]["/item/GetItemList"]["get"]["responses"]


def test_what_a_file_holds_is_as_long_as_the_file_and_a_name_is_never_empty(document: Any) -> None:
    shapes = document["components"]["schemas"]
    for name in ("Document", "DocumentVersion", "Attachment"):
        assert "maxLength" not in shapes[name]["properties"]["FileContent"]
    for name in ("Item", "Customer", "Action"):
        assert shapes[f"{name}ChangeRequest"]["properties"]["Name"]["minLength"] == 1


def test_the_document_lets_be_empty_what_may_be_empty_and_names_the_roots_of_xml(document: Any) -> None:
    shapes = document["components"]["schemas"]
    material = shapes["MaterialRequest"]["properties"]
    assert all("minLength" not in material[name] for name in ("externalId", "name"))
    assert shapes["Material"]["properties"]["siteSequenceId"]["format"] == "int64"
    answers = {path: document["paths"][path]["get"]["responses"]["200"]["content"] for path in MATERIAL_PATHS}
    roots = [answers[path]["application/xml"]["schema"]["xml"]["name"] for path in MATERIAL_PATHS]
    assert roots == ["ExternalIdMaterialDtoArray", "ExternalIdMaterialDto"]


MATERIAL_PATHS = ("/materials/", "/materials/{id}")
