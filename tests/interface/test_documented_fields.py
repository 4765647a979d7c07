"""The fields of the interface document, to the letter: names, kinds, which are required, and how long they may be.

The tables are the document's own, so that a field of the product that changes its name, kind or limit fails here.
"""

import re
from typing import Any

import pytest

from records.sites.models import Site
from tests.interface.subjects import ENDPOINT_OPERATIONS, body_for, ids_of, path_of, record_for

LONGEST = {"name": 255, "email": 254, "text": 20_000, "reason": 1_000}
"""The kinds of text, and how many characters they may have."""
MISSING: dict[str, Any] = {**dict.fromkeys((*LONGEST, "word", "file"), ""), "array": []}
"""What is read where nothing was stored; null for the kinds that are not here."""
STAMPS = "Created:date CreatedBy:id LastModified:date LastModifiedBy:id"

EMPLOYEE = """TitleId:id FirstName:name* LastName:name* Code:name NatureOfEmploymentId:id* Position:name* Address:text
    Phone:name Mobile:name EmailAddress:email DateOfBirth:date NationalityId:id FirstLanguageId:id SecondLanguageId:id
    SecondLanguageProficiencyId:id CommencementDate:date ReportingToId:id Notes:text EntityFolderId:id
    EducationTraining:array EmploymentHistory:array"""
JOB_DESCRIPTION = """Name:name* Code:name Department:name Purpose:text Responsibilities:text Authority:text
    Qualifications:text Experience:text ReportsToId:id DeputyId:id EffectiveDate:date ReviewDate:date DocumentId:id
    Employee:array EntityFolderId:id"""
COMPLAINT = """Date:date CustomerId:id* SourceId:id SourceDetails:text MethodId:id SampleDetails:text
    ConsumerSalutationId:id ConsumerFirstName:name ConsumerLastName:name ConsumerAddress:text ConsumerPurchased:text
    ConsumerPhone:name ConsumerMobile:name ConsumerEmail:email ProductId:id* Quantity:number ManufactureDate:date
    ExpirationDate:date TraceNumber:name BrandId:id ProductionUnitId:id NonconformanceId:id*
    ComplaintDescription:text"""
DOCUMENT = """Name:name* Description:text FileType:name* FileName:name* FileContent:file* EntityFolderId:id
    UserToReview:array UserToApprove:array UserToNotify:array"""
ITEM = "Name:name* Code:name SerialNumber:name Location:name Notes:text EntityFolderId:id"
CUSTOMER = """Name:name* Code:name PostalAddressStreet:text PostalAddressCity:name PostalAddressState:name
    PostalAddressPoBox:name PostalAddressCountryId:id PhysicalAddressStreet:text PhysicalAddressCity:name
    PhysicalAddressState:name PhysicalAddressPoBox:name PhysicalAddressCountryId:id Telephone:name Fax:name Ddi:name
    Note:text EntityFolderId:id PartyContacts:array Lng:word Lat:word"""
MATERIAL = """Id:id externalId:name* name:name* ourCode:name supplierCode:name description:text materialCategoryId:id
    entityFolderId:id countryOfOrigin:array risk:word reasonForChange:reason isArchived:boolean"""
ACTION = """Name:name* Description:text Kind:word RecordId:id FindingId:id CauseId:id OwnerId:id* DueDate:date*
    Priority:word RecordStatus:word Result:text"""
ATTACHMENT = "RecordId:id* FindingId:id Name:name Description:text FileName:name* FileType:name* FileContent:file*"
STAR = re.compile(r"\*")

BODIES = {
    "AddEmployee": EMPLOYEE,
    "UpdateEmployee": EMPLOYEE,
    "AddJobDescription": JOB_DESCRIPTION,
    "AddComplaintDetail": f"{COMPLAINT} ReasonForChange:reason",
    "UpdateComplaintDetail": f"{COMPLAINT} ReasonForChange:reason*",
    "AddDocument": f"{DOCUMENT} Version:integer",
    "UpdateDocument": DOCUMENT,
    "AddItem": ITEM,
    "UpdateItem": STAR.sub("", ITEM),
    "AddCustomer": CUSTOMER,
    "UpdateCustomer": STAR.sub("", CUSTOMER),
    "PostMaterial": MATERIAL,
    "AddAction": f"{ACTION} ReasonForChange:reason Effective:boolean",
    "UpdateAction": STAR.sub("", f"{ACTION} ReasonForChange:reason Effective:boolean"),
    "AddAttachment": ATTACHMENT,
}
"""What may be sent, by the operation that takes it; a star marks what must be sent."""

IDS = "Id:id SiteSequenceId:integer"
READS = {
    "GetEmployee": f"{IDS} {EMPLOYEE} JobDescription:array UserId:id {STAMPS}",
    "GetJobDescription": f"{IDS} {JOB_DESCRIPTION} {STAMPS}",
    "GetComplaint": f"{IDS} RecordStatus:word {COMPLAINT} ReviewReport:text {STAMPS}",
    "GetDocument": f"""{IDS} RecordStatus:word {DOCUMENT} Version:integer EffectiveVersion:integer FileSize:integer
        FileHash:name FileURL:name DocumentVersion:array {STAMPS}""",
    "GetDocumentVersion": """Id:id DocumentId:id Version:integer RecordStatus:word FileType:name FileName:name
        FileSize:integer FileHash:name FileContent:file FileURL:name Signature:array Created:date CreatedBy:id""",
    "GetItem": f"{IDS} {ITEM} {STAMPS}",
    "GetCustomer": f"{IDS} {CUSTOMER} {STAMPS}",
    "GetAuditProgram": f"""{IDS} Name:name Type:word Department:name Risk:word Auditor:array Auditee:array
        Procedure:array Checklist:array RatingId:id RatingResponseId:id {STAMPS}""",
    "GetMaterialById": f"""{MATERIAL} siteSequenceId:integer created:date lastModified:date createdBy:id
        lastModifiedBy:id""",
    "GetAction": f"""{IDS} {ACTION} VerifiedBy:id Effective:boolean ClosedBy:id ClosedDate:date {STAMPS}""",
    "GetAttachment": f"""Id:id {ATTACHMENT} FileSize:integer FileHash:name FileURL:name IsArchived:boolean
        Created:date CreatedBy:id""",
    "GetRating": "Id:id Name:name Code:name Idx:integer IsArchived:boolean Response:array ScoreBand:array",
}
"""What is read, by the operation that reads it."""

body_operations = [entry for entry in ENDPOINT_OPERATIONS if entry[0].request is not None]
read_operations = [
    entry for entry in ENDPOINT_OPERATIONS if entry[0].method == "GET" and entry[0].takes_id and not entry[0].many
]


def fields_of(table: str) -> dict[str, str]:
    """Return the kinds of a table's fields by their names."""
    return dict(STAR.sub("", pair).split(":") for pair in table.split())


def required_names(table: str) -> set[str]:
    """Return the names of the fields that must be sent."""
    return {pair.split(":")[0] for pair in table.split() if pair.endswith("*")}


def text_of(kind: str, length: int) -> str:
    """Return a text of a kind with so many characters."""
    if kind != "email":
        return "é" * length
    rest = "@" + ".".join(["d" * 60] * 3) + ".example"
    return "a" * (length - len(rest)) + rest


def of_kind(value: Any, kind: str) -> bool:
    """Return whether a value that is read is of its kind, or missing as its kind is."""
    if value == MISSING.get(kind):
        return True
    if kind == "date":
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value))
    if kind == "id":
        return bool(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", value))
    kinds: dict[str, Any] = {"number": int | float, "integer": int, "boolean": bool, "array": list}
    return isinstance(value, kinds.get(kind, str)) and (kind == "boolean") == isinstance(value, bool)


def test_every_body_and_every_record_has_its_table() -> None:
    assert {operation.name for operation, _ in body_operations} == BODIES.keys()
    assert {operation.name for operation, _ in read_operations} == READS.keys()


@pytest.mark.parametrize(("operation", "viewset"), read_operations, ids=ids_of(read_operations))
def test_a_record_is_read_with_the_documents_fields(operation: Any, viewset: Any, api: Any) -> None:
    fields = fields_of(READS[operation.name])
    answer = api.get(path_of(operation, viewset, record_for(operation, api.key.site).pk)).json()
    assert answer.keys() == fields.keys()
    assert [name for name, kind in fields.items() if not of_kind(answer[name], kind)] == []


@pytest.mark.parametrize(("operation", "viewset"), body_operations, ids=ids_of(body_operations))
def test_a_body_has_the_documents_fields_and_no_text_is_longer_than_it_says(
    operation: Any, viewset: Any, api: Any, site: Site
) -> None:
    table = BODIES[operation.name]
    fields, required = fields_of(table), required_names(table)
    path = path_of(operation, viewset, record_for(operation, site).pk if operation.takes_id else "")
    assert {name for name, field in operation.request.wire_fields().items() if not field.read_only} == fields.keys()
    empty = api.send(operation.method, path, {}).json()
    assert {one["Field"] for one in empty.get("Fields", ())} == required, empty
    texts = {name: LONGEST[kind] for name, kind in fields.items() if kind in LONGEST}
    body = body_for(operation, site)
    longest = {name: text_of(fields[name], most) for name, most in texts.items()}
    answer = api.send(operation.method, path, {**body, **longest})
    assert answer.status_code == 200, answer.content
    longer = {name: text_of(fields[name], most - 1) + "ab" for name, most in texts.items()}
    faults = api.send(operation.method, path, {**body, **longer}).json()["Fields"]
    assert {(one["Field"], one["Code"]) for one in faults} == {(name, "ValueTooLong") for name in texts}


adds = [entry for entry in body_operations if entry[0].method == "POST" and entry[0].name != "AddAttachment"]


@pytest.mark.parametrize(("operation", "viewset"), adds, ids=ids_of(adds))
def test_what_was_not_sent_is_read_as_missing_in_the_way_of_its_kind(operation: Any, viewset: Any, api: Any) -> None:
    body = {name: body_for(operation, api.key.site)[name] for name in required_names(BODIES[operation.name])}
    answer = api.send("POST", path_of(operation, viewset), body)
    assert answer.status_code == 200, answer.content
    [(reader, _)] = [
        one
        for one in read_operations
        if one[1] is viewset and one[0].response.Meta.model is operation.request.Meta.model
    ]
    shape = api.get(path_of(reader, viewset, answer.json()["Id"])).json()
    names_set = {"Id", "Date", "Version", "RecordStatus", "Kind", "Priority", "isArchived", *body}
    fields = fields_of(BODIES[operation.name])
    absent = {name: kind for name, kind in fields.items() if name not in names_set and name in shape}
    assert {name: shape[name] for name in absent} == {name: MISSING.get(kind) for name, kind in absent.items()}
