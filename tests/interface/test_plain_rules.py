"""Rules that every endpoint keeps: what a comma and a day mean, what is blank, what happens to archived records."""

import datetime
import itertools
from typing import Any

import pytest
from django.contrib.auth.models import Permission

from records.accounts import actions as account_actions
from records.accounts.models import DefaultRole, Role
from records.customers.models import Customer
from records.employees.models import Employee
from records.history.models import Change
from records.items.models import Item
from records.sites.models import Site
from records.sites.text import is_blank
from tests import make
from tests.conftest import Api
from tests.interface.subjects import ENDPOINT_OPERATIONS, body_for, ids_of, path_of, record_for
from tests.interface.test_doors import is_error
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer
from tests.make.documents import make_document
from tests.make.items import make_item
from tests.make.materials import MaterialApi, make_api, make_material

INVISIBLE = (
    *("\u200b", "\u2060", "\ufeff", "\u00ad", "\u2800", "\u3164", "\u00a0\u3000", "\u034f", "\ufe0f\u200d"),
    *("\u2065", "\ufff3", "\U00013441\U00013442", "\U0001d159", "\U00016fe4", "\U000e0000\U000e01ff"),
)
update_operations = [entry for entry in ENDPOINT_OPERATIONS if entry[0].method == "PUT"]
add_operations = [entry for entry in ENDPOINT_OPERATIONS if entry[0].method == "POST"]


def column(answer: Any, name: str) -> list[Any]:
    """Return one field of each row of a list."""
    assert answer.status_code == 200, answer.content
    assert answer["X-Total-Count"] == str(len(answer.json()))
    return [row[name] for row in answer.json()]


@pytest.mark.django_db
def test_a_comma_in_a_name_belongs_to_the_name(api: Any, site: Site) -> None:
    for name in ("Acme", "Inc.", "Acme, Inc."):
        make_customer(site, name=name)
    assert column(api.get("/customer/GetCustomerList?name=Acme%2C%20Inc."), "Name") == ["Acme, Inc."]
    assert column(api.get("/customer/GetCustomerList?name=acme&name=INC."), "Name") == ["Acme", "Inc."]


@pytest.mark.django_db
def test_a_comma_separates_external_ids_unless_it_is_part_of_one(site: Site, other_site: Site) -> None:
    materials: MaterialApi = make_api(site)
    make_material(other_site, external_id="P2,P3")
    for external_id in ("P1", "P2", "P1,P2", "P3"):
        make_material(site, external_id=external_id)

    def external_ids(query: str) -> list[str]:
        return column(materials.get(f"/materials/?siteId={site.pk}&{query}"), "externalId")

    assert external_ids("externalId=P1%2CP2") == ["P1,P2"]
    assert external_ids("externalId=P2%2CP3") == ["P2", "P3"]
    assert external_ids("externalId=P1%2CP2&externalId=P3") == ["P1,P2", "P3"]
    assert external_ids("externalId=P3%2C%20P9") == ["P3"]


@pytest.mark.django_db
def test_a_comma_at_the_end_of_external_ids_asks_for_no_material_without_one(site: Site) -> None:
    materials: MaterialApi = make_api(site)
    for external_id in ("P1", "P2", ""):
        make_material(site, external_id=external_id)
    for query, expected in (("P1%2C", ["P1"]), ("%2CP1%2C%20%2CP2", ["P1", "P2"]), ("%2C", []), ("", [""])):
        answer = materials.get(f"/materials/?siteId={site.pk}&externalId={query}")
        assert column(answer, "externalId") == expected, query


@pytest.mark.django_db
def test_blanks_around_a_text_are_part_of_it_and_may_be_asked_for(api: Any, site: Site) -> None:
    materials: MaterialApi = make_api(site)
    for external_id in ("P1", "P1 ", " \u00a0Q"):
        make_material(site, external_id=external_id)
    make.make_employee(site, code=" E7 ")
    for query, expected in (("p1", ["P1"]), ("p1%20", ["P1", "P1 "]), ("%20%C2%A0q", [" \u00a0Q"]), ("Q", [])):
        answer = materials.get(f"/materials/?siteId={site.pk}&externalId={query}")
        assert column(answer, "externalId") == expected, query
    assert column(api.get("/employee/GetEmployeeList?code=%20e7%20"), "Code") == [" E7 "]


@pytest.mark.django_db
@pytest.mark.parametrize("blanks", ["%20", "%09", "%20%C2%A0"])
def test_blanks_alone_do_not_mean_the_records_without_a_value(api: Any, site: Site, blanks: str) -> None:
    make_item(site, code="", location="")
    make_customer(site, code="")
    make.make_employee(site, code="")
    for query in ("item/GetItemList?code=", "item/GetItemList?location=", "customer/GetCustomerList?code="):
        assert api.get(f"/{query}{blanks}").json() == [], query
    assert api.get(f"/employee/GetEmployeeList?code={blanks}").json() == []


@pytest.mark.django_db
def test_several_names_are_compared_as_one_is(api: Any, site: Site) -> None:
    make_customer(site, name="Straße")
    make_customer(site, name=" Acme")
    for query in ("name=STRASSE", "name=stra%C3%9Fe", "name=STRASSE&name=none", "name=Stra%C3%9Fe%20"):
        assert column(api.get(f"/customer/GetCustomerList?{query}"), "Name") == ["Straße"], query
    for query in ("name=acme", "name=%20ACME&name=none"):
        assert column(api.get(f"/customer/GetCustomerList?{query}"), "Name") == [" Acme"], query


@pytest.mark.django_db
def test_a_sharp_s_is_two_s_in_every_filter_and_search(api: Any, site: Site) -> None:
    make.make_employee(site, code="Maß 1", last_name="Weiß")
    make_document(site, name="Gießen")
    for query in ("code=MASS%201", "code=ma%C3%9F%201", "search=WEISS", "search=wei%C3%9F", "search=mass"):
        assert column(api.get(f"/employee/GetEmployeeList?{query}"), "Code") == ["Maß 1"], query
    for query in ("name=GIESSEN", "name=gie%C3%9Fen&name=none", "search=esse"):
        assert column(api.get(f"/document/GetDocumentList?{query}"), "Name") == ["Gießen"], query


@pytest.mark.django_db
def test_a_bare_day_as_the_end_of_a_period_is_the_whole_day(api: Any, site: Site) -> None:
    for day, time in ((30, "23:59:59.999"), (31, "00:00:00"), (31, "10:00:00"), (31, "23:59:59.999")):
        make_complaint(site, date=datetime.datetime.fromisoformat(f"2024-05-{day}T{time}+00:00"))
    make_complaint(site, date=datetime.datetime.fromisoformat("2024-06-01T00:00:00+00:00"))
    period = "/complaint/GetComplaintList?dateFrom=2024-05-31&dateTo="
    assert column(api.get(f"{period}2024-05-31"), "SiteSequenceId") == [2, 3, 4]
    assert column(api.get(f"{period}2024-05-31T10:00:00Z"), "SiteSequenceId") == [2, 3]
    assert column(api.get(f"{period}9999-12-31"), "SiteSequenceId") == [2, 3, 4, 5]


@pytest.mark.django_db
def test_active_and_archived_records_are_listed_together_when_both_are_asked_for(api: Any, site: Site) -> None:
    items = [make_item(site) for _ in range(5)]
    for item in items[1:3]:
        make.archive(item, reason="Sold")
    listing = "/item/GetItemList?"
    assert column(api.get(listing), "SiteSequenceId") == [1, 4, 5]
    assert column(api.get(f"{listing}isArchived=TRUE"), "SiteSequenceId") == [2, 3]
    for both in ("isArchived=any", "isArchived=true&isArchived=false", "isArchived=true,0", "isArchived=Any"):
        assert column(api.get(listing + both), "SiteSequenceId") == [1, 2, 3, 4, 5]
        page = api.get(f"{listing}{both}&startIndex=1&limit=2")
        assert [row["SiteSequenceId"] for row in page.json()] == [2, 3]
        assert page["X-Total-Count"] == "5"
        assert column(api.get(f"{listing}{both}&search={items[1].name}"), "SiteSequenceId") == [2]
    assert is_error(api.get(f"{listing}isArchived=all"), 400, "InvalidParameter")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query",
    [
        "limit=1&limit=2",
        "startIndex=0&STARTINDEX=1",
        "sort=Name&sort=Code",
        "order=asc&order=desc",
        "modifiedSince=2020-01-01&modifiedSince=2021-01-01",
    ],
)
def test_a_parameter_of_which_one_value_can_be_meant_is_refused_with_two(query: str, api: Any) -> None:
    assert is_error(api.get(f"/item/GetItemList?{query}"), 400, "InvalidParameter")
    first = query.split("&")[0]
    assert api.get(f"/item/GetItemList?{first}&{first}").status_code == 200


def test_two_texts_to_search_for_are_refused(api: Any) -> None:
    answer = api.get("/item/GetItemList?search=Scale&Search=Oven")
    assert (answer.status_code, answer.json()["Error"]) == (400, "InvalidParameter")
    for name in ("Scale", "Oven"):
        make_item(api.key.site, name=name)
    assert column(api.get("/item/GetItemList?search=Scale&Search=Scale"), "Name") == ["Scale"]


@pytest.mark.django_db
def test_a_reason_that_is_sent_twice_is_kept_once(site: Site) -> None:
    materials = make_api(site)
    material = make_material(site, external_id="A")
    twice = "&reasonForChange=Sold%20out&ReasonForChange=Sold%20out"
    assert materials.send("DELETE", materials.at("A") + twice).status_code == 200
    assert Change.objects.filter(record_id=material.pk).latest("number").reason == "Sold out"
    other = twice.replace("Sold", "Cold", 1)
    assert is_error(materials.send("DELETE", materials.at("A") + other), 400, "InvalidParameter")


@pytest.mark.django_db
def test_two_values_of_a_switch_are_refused_and_nothing_is_written(api: Any, site: Site) -> None:
    answer = api.post("/item/AddItem?validateOnly=true&validateOnly=false", {"Name": "Oven"})
    assert is_error(answer, 400, "InvalidParameter")
    assert not Item.objects.exists()
    assert is_error(api.get("/change/GetChangeList?after=1&after=2"), 400, "InvalidParameter")
    assert api.get("/change/GetChangeList?entity=Item&entity=Customer").status_code == 200


@pytest.mark.django_db
def test_a_list_that_cannot_be_sorted_so_names_what_it_can_be_sorted_by(api: Any) -> None:
    answer = api.get("/item/GetItemList?sort=Nmae")
    assert is_error(answer, 400, "InvalidParameter")
    assert "Did you mean Name? Fields to sort by: Id, SiteSequenceId, Name, Code," in answer.json()["Message"]


@pytest.mark.parametrize("text", INVISIBLE)
def test_text_that_shows_nothing_is_blank(text: str, api: Any, db: None) -> None:
    assert is_blank(text)
    assert not is_blank(f"{text}a")
    answer = api.post("/item/AddItem", {"Name": text})
    assert is_error(answer, 400, "ValidationFailed")
    assert [(fault["Field"], fault["Code"]) for fault in answer.json()["Fields"]] == [("Name", "RequiredField")]
    assert is_error(api.post("/customer/AddCustomer", {"Name": f"{text} {text}"}), 400, "ValidationFailed")
    assert not Customer.objects.exists()


@pytest.mark.django_db
def test_a_whole_number_may_be_written_with_a_decimal_point(api: Any, site: Site) -> None:
    body = {"Name": "Recipe", "FileType": "text/plain", "FileName": "a.txt", "FileContent": "QQ=="}
    names = (f"Recipe {number}" for number in itertools.count())

    def add(version: str) -> Any:
        text = ", ".join(f'"{name}": "{value}"' for name, value in {**body, "Name": next(names)}.items())
        return api.send("POST", "/document/AddDocument", f'{{{text}, "Version": {version}}}'.encode())

    for version in ("5.0", "5", "50e-1"):
        answer = add(version)
        assert answer.status_code == 200, answer.content
        assert api.get(f"/document/GetDocument/{answer.json()['Id']}").json()["Version"] == 5
    for version in ("5.5", "1e400", "1e-400", "0.0", "true", '"5"'):
        assert is_error(add(version), 400, "ValidationFailed")


@pytest.mark.parametrize(("operation", "viewset"), update_operations, ids=ids_of(update_operations))
def test_an_archived_record_is_not_changed(operation: Any, viewset: Any, api: Any) -> None:
    record = record_for(operation, api.key.site)
    path = path_of(operation, viewset, record.pk)
    body = body_for(operation, api.key.site)
    type(record).objects.filter(pk=record.pk).update(is_archived=True)
    before = list(type(record).objects.filter(pk=record.pk).values())
    changes = Change.objects.count()
    answer = api.send("PUT", path, body)
    assert is_error(answer, 409, "InvalidTransition")
    assert "is archived" in answer.json()["Message"]
    assert list(type(record).objects.filter(pk=record.pk).values()) == before
    assert Change.objects.count() == changes


@pytest.mark.django_db
def test_an_archived_record_that_is_sent_back_as_it_is_stored_is_no_change(api: Any, site: Site) -> None:
    item = make_item(site)
    make.archive(item, reason="Sold")
    path = f"/item/{{}}Item/{item.pk}"
    assert api.send("PUT", path.format("Update"), api.get(path.format("Get")).json()).status_code == 200


@pytest.mark.django_db
def test_an_archived_material_is_changed_stays_archived_and_the_answer_says_so(site: Site) -> None:
    materials = make_api(site)
    key = make_material(site, external_id="A", is_archived=True).pk
    note = " The material stays archived; send isArchived false to restore it."
    answer = materials.upsert({"externalId": "A", "name": "New"})
    assert answer.json() == {"Error": "", "Message": f"Success.{note}", "Id": str(key)}
    rows = materials.upsert([{"externalId": "A", "name": "Newer"}, {"externalId": "A", "name": "Newer"}]).json()
    assert [(row["Message"], row["Outcome"]) for row in rows] == [
        (f"Success.{note}", "Changed"),
        (f"Success.{note}", "Unchanged"),
    ]
    assert materials.upsert({"externalId": "A", "name": "Newer", "isArchived": False}).json()["Message"] == "Success."


@pytest.mark.django_db
def test_each_row_of_an_array_of_materials_says_what_became_of_it(site: Site) -> None:
    materials = make_api(site)
    material = make_material(site, external_id="A", name="A")
    body = [{"externalId": "A", "name": "B"}, {"externalId": "N", "name": "N"}, {"externalId": "", "risk": "Odd"}]
    checks = materials.post(materials.at() + "&validateOnly=true", body).json()
    assert [(row["Message"], row["Id"], row["Outcome"]) for row in checks[:2]] == [
        ("Valid.", "", "Changed"),
        ("Valid.", "", "Added"),
    ]
    material.refresh_from_db()
    assert (material.name, type(material).objects.count()) == ("A", 1)
    rows = materials.upsert(body).json()
    assert [row["Outcome"] for row in rows] == ["Changed", "Added", "Refused"]
    assert [row["Fields"] for row in rows[:2]] == [[], []]
    assert {(fault["Field"], fault["Code"]) for fault in rows[2]["Fields"]} == {
        ("name", "RequiredField"),
        ("risk", "InvalidValue"),
    }
    assert rows[2] == checks[2]
    assert [row["Outcome"] for row in materials.upsert(body[:2]).json()] == ["Unchanged", "Unchanged"]


@pytest.mark.django_db
def test_a_private_field_is_refused_from_whoever_may_not_see_it_instead_of_ignored(api: Any, site: Site) -> None:
    user = make.make_user(site=site)
    role = Role(site=site, name="Clerk")
    names = ["view_employee", "add_employee", "change_employee"]
    account_actions.add_role(role, permissions=Permission.objects.filter(codename__in=names), author=make.SYSTEM)
    account_actions.set_members(role, add=[user], author=make.SYSTEM)
    clerk = Api(make.make_key(site, user=user))
    body = make.employee_body()
    answer = clerk.post("/employee/AddEmployee", {**body, "Phone": "1", "Notes": "x"})
    assert (answer.status_code, answer.json()["Error"]) == (403, "Forbidden")
    assert "Notes, Phone" in answer.json()["Message"]
    assert not Employee.objects.exists()
    key = api.post("/employee/AddEmployee", {**body, "Phone": "1"}).json()["Id"]
    record = clerk.get(f"/employee/GetEmployee/{key}").json()
    assert record["Phone"] == ""
    assert clerk.put(f"/employee/UpdateEmployee/{key}", {**record, "Position": "Lead"}).status_code == 200
    assert Employee.objects.get().phone == "1"


def test_what_is_private_to_consumers_is_empty_below_standard(api: Any, site: Site) -> None:
    complaint = make_complaint(site, consumer_first_name="Ann", consumer_email="ann@example.org")
    reader, standard = (Api(make.make_key(site, role)) for role in (DefaultRole.READER, DefaultRole.STANDARD))
    path, listing = f"/complaint/GetComplaint/{complaint.pk}", "/complaint/GetComplaintList"
    names = ("ConsumerFirstName", "ConsumerEmail")
    for shape in (reader.get(path).json(), reader.get(listing).json()[0]):
        assert [shape[name] for name in names] == ["", ""]
    for shape in (standard.get(path).json(), standard.get(listing).json()[0]):
        assert [shape[name] for name in names] == ["Ann", "ann@example.org"]
    assert is_error(reader.get(f"{listing}?sort=ConsumerFirstName"), 400, "InvalidParameter")
    assert reader.get(path)["ETag"] != standard.get(path)["ETag"]


def test_nobody_finds_a_complaint_by_the_name_of_a_consumer_that_they_may_not_see(api: Any, site: Site) -> None:
    complaint = make_complaint(site, consumer_last_name="Meyer", complaint_description="Hair in a bread")
    make_complaint(site, complaint_description="Meyer's bread is stale")
    reader, standard = (Api(make.make_key(site, role)) for role in (DefaultRole.READER, DefaultRole.STANDARD))
    listing = "/complaint/GetComplaintList?search="
    assert column(standard.get(f"{listing}meyer"), "SiteSequenceId") == [1, 2]
    assert column(reader.get(f"{listing}meyer"), "SiteSequenceId") == [2]
    assert column(reader.get(f"{listing}hair"), "Id") == [str(complaint.pk)]


@pytest.mark.django_db
def test_a_check_of_a_document_leaves_no_file(api: Any, site: Site, files: Any) -> None:
    body = {"Name": "Recipe", "FileType": "text/plain", "FileName": "a.txt", "FileContent": "QQ=="}
    assert api.post("/document/AddDocument?validateOnly=true", body).json()["Message"] == "Valid."
    assert not [path for path in files.rglob("*") if path.is_file()]
    assert make_document(site).site_sequence_id == 1


@pytest.mark.django_db
def test_an_archived_complaint_is_not_changed_before_it_is_restored(api: Any, site: Site) -> None:
    complaint = make_complaint(site)
    make.archive(complaint, reason="Filed twice")
    path = f"/complaint/UpdateComplaintDetail/{complaint.pk}"
    body = {**api.get(f"/complaint/GetComplaint/{complaint.pk}").json(), "TraceNumber": "X", "ReasonForChange": "x"}
    assert is_error(api.send("PUT", path, body), 409, "InvalidTransition")
    make.archive(complaint, archived=False, reason="Not so")
    assert api.send("PUT", path, body).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("stored", ["", " ", "\u200b"])
def test_a_family_name_that_provisioning_left_empty_is_taken_back_as_it_is(api: Any, site: Site, stored: str) -> None:
    employee = make.make_employee(site)
    type(employee).objects.filter(pk=employee.pk).update(last_name=stored)
    shape = api.get(f"/employee/GetEmployee/{employee.pk}").json()
    path = f"/employee/UpdateEmployee/{employee.pk}"
    assert api.send("PUT", path, {**shape, "Position": "Packer"}).status_code == 200
    assert api.send("PUT", path, {**shape, "LastName": "Baker"}).status_code == 200
    for nothing in ("", " ", "\u200b"):
        answer = api.send("PUT", path, {**shape, "LastName": nothing})
        assert answer.status_code == 400
        assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [("LastName", "RequiredField")]
