"""GET /category/Get…List: every list answers the same rows, of the caller's site, with the list parameters."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from records.accounts.models import DefaultRole
from records.operations.operation import all_operations
from records.reference.lists import LISTS, SITE_LISTS, SYSTEM_LISTS
from records.reference.models import Nonconformance, Product
from records.sites.models import Entity
from tests import make
from tests.conftest import Api

pytestmark = pytest.mark.django_db

COLUMNS = ("Id", "Name", "Code", "Idx", "IsArchived")


def names(response):
    assert response.status_code == 200, response.content
    return [row["Name"] for row in response.json()]


def test_every_list_of_the_registry_has_its_operation():
    operations = {row.name for row, _ in all_operations()}
    assert {f"Get{name}List" for name in LISTS} <= operations


@pytest.mark.parametrize("name", SITE_LISTS)
def test_a_site_list_answers_the_rows_of_the_callers_site_alone(api, site, other_site, name):
    model = SITE_LISTS[name]
    entry = model.objects.create(site=site, name="Crème", code="C1", idx=3)
    model.objects.create(site=other_site, name="Butter")
    response = api.get(f"/category/Get{name}List")
    assert response.json() == [{"Id": str(entry.pk), "Name": "Crème", "Code": "C1", "Idx": 3, "IsArchived": False}]
    assert response["X-Total-Count"] == "1"


@pytest.mark.parametrize("name", SYSTEM_LISTS)
def test_a_shared_list_answers_all_its_rows_by_name(api, name):
    model = SYSTEM_LISTS[name]
    rows = api.get(f"/category/Get{name}List", {"limit": 1000}).json()
    entries = model.objects.order_by("name", "id").values_list("id", "name", "code", "idx", "is_archived")
    assert rows == [dict(zip(COLUMNS, (str(row[0]), *row[1:]), strict=True)) for row in entries]


def test_nature_of_employment_offers_employee_and_agency(api):
    assert names(api.get("/category/GetNatureOfEmploymentList")) == ["Agency", "Employee"]


@pytest.mark.parametrize("query", [{"code": "nz"}, {"Code": "NZ"}, {"name": "new zealand"}, {"search": "w zEa"}])
def test_an_entry_is_found_by_code_name_or_part_of_it_in_any_case(api, query):
    assert names(api.get("/category/GetCountryList", query)) == ["New Zealand"]


def test_several_codes_are_asked_for_at_once(api):
    assert names(api.get("/category/GetCountryList?code=FR&code=DE")) == ["France", "Germany"]
    assert names(api.get("/category/GetCountryList", {"code": "FR,DE"})) == []


def test_case_does_not_count_in_any_alphabet_and_wildcards_mean_themselves(api, site):
    Product.objects.bulk_create([Product(site=site, name=name) for name in ("ÉCLAIR", "100% rye", "Rye")])
    assert names(api.get("/category/GetProductList", {"name": "éclair"})) == ["ÉCLAIR"]
    assert names(api.get("/category/GetProductList", {"search": "0%"})) == ["100% rye"]
    assert names(api.get("/category/GetProductList", {"search": "_"})) == []


def test_archived_entries_are_listed_when_asked_for(api, site):
    Nonconformance.objects.create(site=site, name="Mould")
    Nonconformance.objects.create(site=site, name="Glass", is_archived=True)
    assert names(api.get("/category/GetNonconformanceList")) == ["Mould"]
    rows = api.get("/category/GetNonconformanceList", {"isArchived": "True"}).json()
    assert [(row["Name"], row["IsArchived"]) for row in rows] == [("Glass", True)]


@pytest.mark.parametrize("sort", ["Name", "Code", "Idx", "Id", "IsArchived"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_walk_through_the_pages_meets_every_entry_once(api, site, settings, sort, order):
    Product.objects.bulk_create([Product(site=site, name="Bar", code=f"{number:03}") for number in range(25)])
    path, ids = f"/category/GetProductList?limit=10&sort={sort}&order={order}", []
    while path:
        response = api.get(path)
        ids += [row["Id"] for row in response.json()]
        path = response.headers.get("Link", "").partition("<")[2].partition(">")[0].removeprefix(settings.BASE_URL)
    assert len(ids) == len(set(ids)) == 25
    by_index = [
        row["Id"]
        for start in (0, 10, 20)
        for row in api.get(f"/category/GetProductList?limit=10&startIndex={start}&sort={sort}&order={order}").json()
    ]
    assert by_index == ids


def test_entries_changed_since_a_moment_are_listed(api, site):
    entry = Product.objects.create(site=site, name="Rye")
    moment = entry.last_modified.isoformat().replace("+00:00", "Z")
    assert names(api.get("/category/GetProductList", {"modifiedSince": moment})) == ["Rye"]
    assert names(api.get("/category/GetProductList", {"modifiedSince": "2999-01-01"})) == []


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("nam=x", "UnknownParameter"),
        ("entityFolderId=00000000-0000-0000-0000-000000000000", "UnknownParameter"),
        ("sort=SiteSequenceId", "InvalidParameter"),
        ("limit=0", "InvalidParameter"),
        ("startIndex=9223372036854775808", "InvalidParameter"),
        ("isArchived=maybe", "InvalidParameter"),
        ("search=%00", "InvalidParameter"),
        ("cursor=abc", "InvalidParameter"),
    ],
)
@pytest.mark.parametrize("name", ["Country", "Product", "Folder", "Site", "User"])
def test_a_faulty_parameter_is_refused(api, name, query, code):
    response = api.get(f"/category/Get{name}List?{query}")
    assert (response.status_code, response.json()["Error"]) == (400, code)


@pytest.mark.parametrize("name", ["Product", "Country", "Folder", "Site", "User"])
def test_a_list_costs_the_same_however_long_it_is(api, site, name):
    def cost():
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert api.get(f"/category/Get{name}List").status_code == 200
        return len(queries)

    cost()
    few = cost()
    Product.objects.bulk_create([Product(site=site, name=f"Loaf {number}") for number in range(30)])
    for _ in range(5):
        make.make_folder(site)
        make.make_user(site=site, role=DefaultRole.READER)
        make.give_role(api.key.user, make.make_site(), DefaultRole.READER)
    cost()  # The caller's access has changed, so that it is looked up anew.
    assert cost() == few <= 3


def test_folders_are_the_sites_own_and_filtered_by_entity(api, site, other_site):
    folder = make.make_folder(site, Entity.EMPLOYEE, "Packing")
    make.make_folder(site, Entity.DOCUMENT, "Procedures")
    make.make_folder(other_site, Entity.EMPLOYEE, "Churn")
    assert names(api.get("/category/GetFolderList")) == ["Packing", "Procedures"]
    rows = api.get("/category/GetFolderList", {"entity": "EMPLOYEE"}).json()
    assert rows == [{"Id": str(folder.pk), "Name": "Packing", "Code": "", "Idx": 0, "IsArchived": False}]
    assert names(api.get("/category/GetFolderList", {"entity": "document,employee"})) == ["Packing", "Procedures"]
    answer = api.get("/category/GetFolderList", {"entity": "employe"})
    assert answer.status_code == 400
    assert "Did you mean employee?" in answer.json()["Message"]


def test_sites_are_those_at_which_the_caller_holds_a_role(api, site, other_site):
    third = make.make_site("Third")
    make.give_role(api.key.user, third, DefaultRole.READER)
    rows = api.get("/category/GetSiteList", {"sort": "name", "order": "asc"}).json()
    assert rows == [
        {"Id": str(at.pk), "Name": at.name, "Code": "", "Idx": 0, "IsArchived": False} for at in (site, third)
    ]


def test_a_superuser_lists_every_site(api, site, other_site):
    root = make.make_user(site=site, is_superuser=True)
    assert names(api.get("/category/GetSiteList", **make.make_key(site, user=root).headers)) == [
        "Harbour Dairy",
        "Hillside Bakery",
    ]


def test_users_show_their_email_address_to_managers_alone(api, site):
    make.make_user("rita", site=site, role=DefaultRole.READER, display_name="Rita", email="rita@hillside.example")
    query = {"name": "Rita"}
    assert api.get("/category/GetUserList", query).json()[0]["EmailAddress"] == "rita@hillside.example"
    standard = Api(make.make_key(site, DefaultRole.STANDARD))
    assert standard.get("/category/GetUserList", query).json()[0]["EmailAddress"] == ""
    answer = standard.get("/category/GetUserList", {"sort": "EmailAddress"})
    assert answer.status_code == 400
    assert answer.json()["Message"].endswith("Fields to sort by: Id, Name, Code, Idx, IsArchived.")


def test_users_hold_a_role_at_the_site_and_carry_their_employee_code(api, site, other_site):
    holder = api.key.user
    reader = make.make_user("rita", site=site, role=DefaultRole.READER, display_name="Rita R.")
    make.make_user("elsewhere", site=other_site, role=DefaultRole.MANAGER)
    make.make_user("nobody", site=site)
    make.make_user("sync", site=site, role=DefaultRole.MANAGER, is_service_account=True)
    make.make_user("gone", site=site, role=DefaultRole.MANAGER, is_active=False)
    make.make_employee(site, id=reader.pk, user=reader, code="E-7")
    rows = api.get("/category/GetUserList", {"sort": "Code"}).json()
    base = {"Idx": 0, "IsArchived": False}
    assert rows == [
        {**base, "Id": str(holder.pk), "Name": holder.printed_name, "Code": "", "EmailAddress": holder.email},
        {**base, "Id": str(reader.pk), "Name": "Rita R.", "Code": "E-7", "EmailAddress": reader.email},
    ]
    assert names(api.get("/category/GetUserList", {"search": "RITA"})) == ["Rita R."]
    assert names(api.get("/category/GetUserList", {"code": "e-7"})) == ["Rita R."]
    assert names(api.get("/category/GetUserList", {"isArchived": "true"})) == []
    assert len(names(api.get("/category/GetUserList", {"startIndex": 1}))) == 1


def test_a_user_without_a_display_name_is_listed_by_full_name_or_user_name(api, site):
    make.make_user("ann", site=site, role=DefaultRole.READER, given_name="Ann", family_name="")
    make.make_user("zoe", site=site, role=DefaultRole.READER, given_name="", family_name="")
    assert {"Ann", "zoe"} <= set(names(api.get("/category/GetUserList")))


def test_a_reader_may_read_every_list_and_nobody_without_a_key(api_of, client):
    reader = api_of(DefaultRole.READER)
    for row, viewset in all_operations():
        if viewset.__name__ == "CategoryViewSet" and not row.takes_id:
            assert reader.get(f"/category/{row.name}").status_code == 200, row.name
            assert reader.get(f"/category/{row.name}/").status_code == 200, row.name
            assert reader.post(f"/category/{row.name}", {}).status_code == 405, row.name
            assert client.get(f"/category/{row.name}").status_code == 401, row.name
