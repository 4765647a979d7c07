"""How often a write or a list of the interface waits for PostgreSQL, as the trace of libpq shows it."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from records.history.verification import verify
from records.sites.actions import add_folder
from records.sites.models import Entity, Site
from tests import make
from tests.conftest import Api
from tests.interface.conftest import BY_KEY_ALONE, SiteApi
from tests.interface.subjects import ENDPOINT_OPERATIONS, body_for, ids_of, path_of, record_for
from tests.make.audits import make_audit, make_checklist, make_program, start
from tests.make.complaints import complaint_body, make_complaint
from tests.make.documents import document_body, make_signer
from tests.make.items import make_item
from tests.make.materials import make_api
from tests.make.oauth import make_token

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        "connection.vendor != 'postgresql'", reason="SQLite runs in the process: a statement costs no round trip."
    ),
]

WARM = 8
"""After so many calls every statement is prepared, which costs one more round trip the first time. The first call reads
the caller in another way than the next ones do."""
_counter = itertools.count(1)

Act = Callable[[], Any]


@pytest.fixture
def site(db: None) -> Site:
    """Return a site that is committed."""
    return make.make_site()


@pytest.fixture
def api(site: Site) -> Api:
    """Return a client with a Manager's key at the site."""
    return Api(make.make_key(site))


@contextmanager
def count_trips(trace: Path) -> Iterator[list[int]]:
    """Yield a list to which the number of round trips is added when the block has ended."""
    trips: list[int] = []
    connection.ensure_connection()
    with trace.open("w") as file:
        connection.connection.pgconn.trace(file.fileno())
        try:
            yield trips
        finally:
            connection.connection.pgconn.untrace()
    trips.append(trace.read_text().count("\tReadyForQuery"))


def round_trips(act: Act, trace: Path) -> int:
    """Return how many round trips a call costs once its statements are prepared."""
    for _ in range(WARM):
        assert act().status_code == 200
    with count_trips(trace) as trips:
        answer = act()
    assert answer.status_code == 200, answer.content
    return trips[0]


def add_employee(site: Site, api: Api) -> Act:
    """Return the call that adds an employee."""
    body = make.employee_body()
    return lambda: api.post("/employee/AddEmployee", body)


def add_employee_with_everything(site: Site, api: Api) -> Act:
    """Return the call that adds an employee with a superior, a folder and child rows."""
    body = make.employee_body(
        ReportingToId=str(make.make_employee(site).pk),
        EntityFolderId=str(add_folder(site.pk, Entity.EMPLOYEE, "Line", author=make.SYSTEM).pk),
        EducationTraining=[{"Title": "Food hygiene"}],
        EmploymentHistory=[{"Company": "Mill"}],
    )
    return lambda: api.post("/employee/AddEmployee", body)


def update_employee(site: Site, api: Api) -> Act:
    """Return the call that changes an employee, whose revision it names."""
    path, body = f"/employee/UpdateEmployee/{make.make_employee(site).pk}", make.employee_body()
    tag = [api.get(path.replace("Update", "Get"))["ETag"]]

    def act() -> Any:
        answer = api.put(path, {**body, "Code": f"E-{next(_counter)}"}, **{"If-Match": tag[0]})
        tag[0] = answer["ETag"]
        return answer

    return act


def update_employee_with_children(site: Site, api: Api) -> Act:
    """Return the call that changes an employee and the whole of a child array."""
    path, body = f"/employee/UpdateEmployee/{make.make_employee(site).pk}", make.employee_body()
    return lambda: api.put(path, {**body, "EducationTraining": [{"Title": f"Course {next(_counter)}"}]})


def add_complaint(site: Site, api: Api) -> Act:
    """Return the call that adds a complaint, which points at three records."""
    body = complaint_body(site)
    return lambda: api.post("/complaint/AddComplaintDetail", body)


def update_complaint(site: Site, api: Api) -> Act:
    """Return the call that changes a complaint."""
    path, body = f"/complaint/UpdateComplaintDetail/{make_complaint(site).pk}", complaint_body(site)
    return lambda: api.put(path, {**body, "TraceNumber": f"T-{next(_counter)}", "ReasonForChange": "Typing error"})


def add_item(site: Site, api: Api) -> Act:
    """Return the call that adds an item."""
    return lambda: api.post("/item/AddItem", {"Name": "Mixer"})


def update_item(site: Site, api: Api) -> Act:
    """Return the call that changes an item."""
    path = f"/item/UpdateItem/{make_item(site).pk}"
    return lambda: api.put(path, {"Name": f"Mixer {next(_counter)}"})


def add_material(site: Site, api: Api) -> Act:
    """Return the call that adds a material."""
    materials = make_api(site)
    return lambda: materials.upsert({"externalId": f"E-{next(_counter)}", "name": "Flour"})


def change_material(site: Site, api: Api) -> Act:
    """Return the call that changes a material."""
    materials = make_api(site)
    return lambda: materials.upsert({"externalId": "E", "name": f"Flour {next(_counter)}"})


def add_materials(site: Site, api: Api) -> Act:
    """Return the call that adds many materials."""
    materials = make_api(site)
    return lambda: materials.upsert([{"externalId": f"E-{next(_counter)}", "name": "Flour"} for _ in range(20)])


def change_materials(site: Site, api: Api) -> Act:
    """Return the call that changes many materials."""
    materials = make_api(site)
    return lambda: materials.upsert([{"externalId": f"E-{row}", "name": f"{next(_counter)}"} for row in range(20)])


def documents_body(site: Site) -> dict[str, Any]:
    """Return the body of a document with people who sign it or are notified, all of whom can be reached by mail."""
    people: dict[str, Any] = {
        name: [{"Id": str(make_signer(site).pk)}] for name in ("UserToReview", "UserToApprove", "UserToNotify")
    }
    return document_body(**people)


def add_document(site: Site, api: Api) -> Act:
    """Return the call that adds a document whose reviewer is asked by mail."""
    body = documents_body(site)
    return lambda: api.post("/document/AddDocument", body)


def update_document(site: Site, api: Api) -> Act:
    """Return the call that adds a version to a document and names all of its people."""
    body = documents_body(site)
    path = f"/document/UpdateDocument/{api.post('/document/AddDocument', body).json()['Id']}"
    return lambda: api.put(path, body)


def update_document_alone(site: Site, api: Api) -> Act:
    """Return the call that adds a version to a document, whose people stay."""
    path = f"/document/UpdateDocument/{api.post('/document/AddDocument', documents_body(site)).json()['Id']}"
    return lambda: api.put(path, document_body())


def update_document_with_others(site: Site, api: Api) -> Act:
    """Return the call that adds a version to a document, for which other people are named than before."""
    path = f"/document/UpdateDocument/{api.post('/document/AddDocument', document_body()).json()['Id']}"
    bodies = itertools.cycle([documents_body(site), documents_body(site)])
    return lambda: api.put(path, next(bodies))


def add_attachment(site: Site, api: Api) -> Act:
    """Return the call that attaches a file to a finding."""
    checklist = make_checklist(site, questions=("Are the floors clean?",))
    audit = start(make_audit(make_program(site, checklists=[checklist])))
    finding = audit.findings.get()
    file = {"FileName": "floor.txt", "FileType": "text/plain", "FileContent": "TGFyZGVy"}
    body = {"RecordId": str(audit.pk), "FindingId": str(finding.pk), **file}
    return lambda: api.post("/attachment/AddAttachment", body)


CASES = {
    add_employee: 2,
    add_employee_with_everything: 4,
    update_employee: 2,
    update_employee_with_children: 3,
    add_complaint: 2,
    update_complaint: 2,
    add_item: 2,
    update_item: 2,
    add_material: 2,
    change_material: 2,
    add_document: 4,
    update_document: 5,
    update_document_alone: 4,
    update_document_with_others: 5,
    add_attachment: 4,
    add_materials: 4,
    change_materials: 3,
}


@pytest.mark.parametrize(("case", "most"), CASES.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_write_costs_few_round_trips(
    case: Callable[[Site, Api], Act], most: int, site: Site, api: Api, tmp_path: Path
) -> None:
    assert round_trips(case(site, api), tmp_path / "trace") <= most
    assert not verify().faults


write_operations = [entry for entry in ENDPOINT_OPERATIONS if entry[0].writes]
MOST = 5


@pytest.mark.parametrize(("operation", "viewset"), write_operations, ids=ids_of(write_operations))
def test_every_write_costs_five_round_trips_at_most(operation: Any, viewset: Any, site: Site, tmp_path: Path) -> None:
    key = make.make_key(site)
    api = Api(key) if viewset in BY_KEY_ALONE else SiteApi(key, Authorization=f"Bearer {make_token(key.user)}")

    def new_call() -> Act:
        path = path_of(operation, viewset, record_for(operation, site).pk if operation.takes_id else "")
        body = body_for(operation, site) if operation.request is not None else None
        return lambda: api.send(operation.method, path, body)

    for _ in range(WARM):
        answer = new_call()()
        assert answer.status_code == 200, answer.content
    act = new_call()
    with count_trips(tmp_path / "trace") as trips:
        answer = act()
    assert answer.json()["Message"] == "Success.", answer.content
    assert trips[0] <= MOST


record_lists = [
    entry
    for entry in ENDPOINT_OPERATIONS
    if entry[0].many and not entry[0].takes_id and hasattr(entry[0].response.Meta.model, "ENTITY")
]


@pytest.mark.parametrize(("operation", "viewset"), record_lists, ids=ids_of(record_lists))
def test_a_page_costs_one_round_trip(operation: Any, viewset: Any, site: Site, tmp_path: Path) -> None:
    key = make.make_key(site)
    api = Api(key) if viewset in BY_KEY_ALONE else SiteApi(key, Authorization=f"Bearer {make_token(key.user)}")
    for _ in range(3):
        record_for(operation, site)
    where = path_of(operation, viewset)
    following = api.get(where, {"limit": 1})["Link"].partition("?")[2].partition(">")[0]
    for query in ("limit=5", "limit=5&modifiedSince=2020-01-01", following):
        assert round_trips(partial(api.get, f"{where}?{query}"), tmp_path / "trace") == 1, query


def test_a_refused_write_costs_no_prepared_statement(site: Site, api: Api) -> None:
    body = make.employee_body()
    for _ in range(WARM):
        assert api.post("/employee/AddEmployee", body).status_code == 200
    assert api.post("/employee/AddEmployee", {**body, "FirstName": 7}).status_code == 400
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%INSERT INTO%'")
        assert cursor.fetchone()[0] >= 2


def test_a_repeatable_add_costs_few_round_trips_more(site: Site, api: Api, tmp_path: Path) -> None:
    body = make.employee_body()

    def act() -> Any:
        return api.post("/employee/AddEmployee", body, **{"Idempotency-Key": f"key-{next(_counter)}"})

    assert round_trips(act, tmp_path / "trace") <= 4
    assert not verify().faults
