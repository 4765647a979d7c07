"""AddEmployee and GetEmployee."""

from typing import Any

from records.accounts.actions import set_members
from records.employees.models import Employee
from records.history.models import Change
from records.reference.models import EducationResult
from records.sites.models import Entity
from tests import make
from tests.conftest import Api


def test_an_added_employee_reads_back_whole(api: Any) -> None:
    folder = make.make_folder(api.key.site)
    body = make.employee_body(
        Address="1 Mill Lane\nHillside",
        DateOfBirth="1980-05-17",
        EntityFolderId=str(folder.pk).upper(),
        EducationTraining=[{"Title": "BSc"}, {"Title": "HACCP level 3", "Year": "2019"}],
        EmploymentHistory=[{"Company": "Acme", "StartDate": "2010-01-01T00:00:00+01:00"}],
    )
    answer = api.post("/employee/AddEmployee", body)
    assert answer.status_code == 200, answer.content
    key = answer.json()["Id"]
    assert answer.json() == {"Error": "", "Message": "Success.", "Id": key}
    read = api.get(f"/employee/GetEmployee/{key.upper()}")
    assert read.status_code == 200, read.content
    shape = read.json()
    user = str(api.key.user.pk)
    assert shape == {
        "Id": key,
        "SiteSequenceId": 1,
        "TitleId": None,
        "FirstName": "Ada",
        "LastName": "Baker",
        "Code": "",
        "NatureOfEmploymentId": str(make.nature().pk),
        "Position": "Line lead",
        "Address": "1 Mill Lane\nHillside",
        "Phone": "",
        "Mobile": "",
        "EmailAddress": "",
        "DateOfBirth": "1980-05-17T00:00:00.000Z",
        "NationalityId": None,
        "FirstLanguageId": None,
        "SecondLanguageId": None,
        "SecondLanguageProficiencyId": None,
        "CommencementDate": None,
        "ReportingToId": None,
        "Notes": "",
        "EntityFolderId": str(folder.pk),
        "EducationTraining": [
            {
                "Id": shape["EducationTraining"][0]["Id"],
                "Title": "BSc",
                "Institution": "",
                "Year": "",
                "Award": "",
                "EducationResultId": None,
            },
            {
                "Id": shape["EducationTraining"][1]["Id"],
                "Title": "HACCP level 3",
                "Institution": "",
                "Year": "2019",
                "Award": "",
                "EducationResultId": None,
            },
        ],
        "EmploymentHistory": [
            {
                "Id": shape["EmploymentHistory"][0]["Id"],
                "PositionHeld": "",
                "Company": "Acme",
                "StartDate": "2009-12-31T23:00:00.000Z",
                "FinishDate": None,
            }
        ],
        "JobDescription": [],
        "UserId": None,
        "Created": shape["Created"],
        "CreatedBy": user,
        "LastModified": shape["Created"],
        "LastModifiedBy": user,
    }
    change = Change.objects.get(record_id=key)
    assert (change.operation, change.channel, change.author_id) == ("AddEmployee", "API", api.key.user.pk)
    assert len([entry for entry in change.fields if entry["field"] == "education_training"]) == 2


def test_update_employee_with_the_read_back_body_changes_nothing(api: Any) -> None:
    body = make.employee_body(EducationTraining=[{"Title": "BSc"}, {"Title": "MSc"}])
    key = api.post("/employee/AddEmployee", body).json()["Id"]
    shape = api.get(f"/employee/GetEmployee/{key}").json()
    answer = api.put(f"/employee/UpdateEmployee/{key}", shape)
    assert answer.status_code == 200, answer.content
    assert api.get(f"/employee/GetEmployee/{key}").json() == shape
    assert Change.objects.filter(record_id=key).count() == 1


def test_update_employee_edits_child_rows_in_place(api: Any) -> None:
    body = make.employee_body(EducationTraining=[{"Title": "BSc"}, {"Title": "MSc"}])
    key = api.post("/employee/AddEmployee", body).json()["Id"]
    first, second = api.get(f"/employee/GetEmployee/{key}").json()["EducationTraining"]
    body = make.employee_body(EducationTraining=[{"Title": "PhD"}, {"Id": first["Id"], "Title": "BA"}])
    assert api.put(f"/employee/UpdateEmployee/{key}", body).status_code == 200
    rows = api.get(f"/employee/GetEmployee/{key}").json()["EducationTraining"]
    assert [row["Title"] for row in rows] == ["PhD", "BA"]
    assert rows[1]["Id"] == first["Id"]
    assert second["Id"] not in [row["Id"] for row in rows]
    change = Change.objects.filter(record_id=key).latest("number")
    assert {entry["field"] for entry in change.fields} == {
        "education_training",
        "education_training.title",
        "education_training.idx",
    }


def test_all_faults_of_a_body_are_named_at_once(api: Any) -> None:
    body = make.employee_body(
        FristName="x", LastName=" ", DateOfBirth="2020-13-01", EmploymentHistory=[{"StartDate": 5}], Phone="a\u0000"
    )
    answer = api.post("/employee/AddEmployee", body)
    assert answer.status_code == 400
    shape = answer.json()
    assert shape["Error"] == "ValidationFailed"
    assert {(one["Field"], one["Code"]) for one in shape["Fields"]} == {
        ("FristName", "UnknownField"),
        ("LastName", "RequiredField"),
        ("DateOfBirth", "InvalidDate"),
        ("EmploymentHistory[0].StartDate", "InvalidDate"),
        ("Phone", "InvalidValue"),
    }
    assert "FirstName" in next(one["Message"] for one in shape["Fields"] if one["Field"] == "FristName")


def test_lists_walk_every_record_once(api: Any) -> None:
    for _ in range(5):
        make.make_employee(api.key.site, position="Same")
    ids: list[str] = []
    path = "/employee/GetEmployeeList?limit=2&sort=position"
    while path:
        page = api.get(path)
        assert page.status_code == 200, page.content
        assert page["X-Total-Count"] == "5"
        ids += [row["Id"] for row in page.json()]
        link = page.headers.get("Link", "")
        path = link.partition(">")[0].removeprefix("<").removeprefix("http://127.0.0.1:8000") if link else ""
    assert len(ids) == len(set(ids)) == 5
    assert [row["Id"] for row in api.get("/employee/GetEmployeeList?startIndex=3&sort=position").json()] == ids[3:]


def test_a_list_entry_archived_meanwhile_stays_on_the_rows_that_have_it(api: Any) -> None:
    result = EducationResult.objects.get(name="Passed")
    body = make.employee_body(EducationTraining=[{"Title": "BSc", "EducationResultId": str(result.pk)}])
    key = api.post("/employee/AddEmployee", body).json()["Id"]
    rows = api.get(f"/employee/GetEmployee/{key}").json()["EducationTraining"]
    make.archive(result)
    body = make.employee_body(EducationTraining=[{**rows[0], "Title": "BA"}])
    assert api.put(f"/employee/UpdateEmployee/{key}", body).status_code == 200
    new_row = make.employee_body(EducationTraining=[{"Title": "MSc", "EducationResultId": str(result.pk)}])
    answer = api.put(f"/employee/UpdateEmployee/{key}", new_row)
    assert answer.status_code == 400
    assert answer.json()["Fields"][0]["Field"] == "EducationTraining[0].EducationResultId"


def test_a_superior_whose_roles_at_the_site_ended_stays_where_he_is_and_is_refused_anew(
    api: Any, other_site: Any
) -> None:
    account = make.make_user(site=other_site)
    superior = make.make_employee(other_site, id=account.pk, user=account)
    role = make.make_role(api.key.site, ["items.view_item"], [account])
    body = make.employee_body(ReportingToId=str(superior.pk))
    key = api.post("/employee/AddEmployee", body).json()["Id"]
    set_members(role, remove=[account], author=make.SYSTEM)
    assert api.put(f"/employee/UpdateEmployee/{key}", {**body, "Position": "Baker"}).status_code == 200
    answer = api.post("/employee/AddEmployee", body)
    assert answer.status_code == 400
    assert answer.json()["Fields"][0]["Message"] == "No such employee at this site."


def test_everything_that_is_wrong_is_named_at_once_whoever_finds_it(api: Any) -> None:
    folder = make.make_folder(api.key.site, Entity.ITEM)
    key = api.post("/employee/AddEmployee", make.employee_body()).json()["Id"]
    wrong = {
        "EmploymentHistory": [{"StartDate": "2020-01-02"}, {"StartDate": "2020-01-02", "FinishDate": "2020-01-01"}],
        "EducationTraining": [{"Id": "a3c1b2d4-0000-4000-8000-000000000000"}],
        "DateOfBirth": "2999-01-01",
        "EntityFolderId": str(folder.pk),
    }
    rule_faults = [
        ("DateOfBirth", "InvalidValue"),
        ("EducationTraining[0].Id", "InvalidReference"),
        ("EmploymentHistory[1].FinishDate", "InvalidValue"),
        ("EntityFolderId", "InvalidReference"),
    ]
    field_faults = [("FirstName", "RequiredField"), ("Nope", "UnknownField"), ("TitleId", "InvalidReference")]
    for more, expected in (
        ({}, rule_faults),
        ({"FirstName": "", "Nope": 1, "TitleId": str(folder.pk)}, [*rule_faults, *field_faults]),
    ):
        body = make.employee_body(**wrong, **more)
        for answer in (api.post("/employee/AddEmployee", body), api.put(f"/employee/UpdateEmployee/{key}", body)):
            assert answer.status_code == 400
            faults = [(fault["Field"], fault["Code"]) for fault in answer.json()["Fields"]]
            assert sorted(faults) == sorted(expected)
    assert api.get(f"/employee/GetEmployee/{key}")["ETag"] == '"1"'


def test_an_archived_superior_is_named_with_the_other_faults_and_stays_where_he_is(api: Any) -> None:
    superior = make.make_employee(api.key.site)
    body = make.employee_body(ReportingToId=str(superior.pk))
    key = api.post("/employee/AddEmployee", body).json()["Id"]
    Employee.objects.filter(pk=superior.pk).update(is_archived=True)
    answer = api.post("/employee/AddEmployee", {**body, "FirstName": ""})
    update_answer = api.put(f"/employee/UpdateEmployee/{key}", {**body, "FirstName": ""})
    assert [fault["Field"] for fault in answer.json()["Fields"]] == ["FirstName", "ReportingToId"]
    assert [fault["Field"] for fault in update_answer.json()["Fields"]] == ["FirstName"]
    assert api.put(f"/employee/UpdateEmployee/{key}", body).status_code == 200


def test_what_a_caller_may_not_change_is_not_judged(db: None) -> None:
    site = make.make_site()
    user = make.make_user(site=site)
    make.make_role(site, ["employees.add_employee"], [user])
    api = Api(make.make_key(site, user=user))
    answer = api.post("/employee/AddEmployee", make.employee_body(DateOfBirth="2999-01-01", Nope=1))
    assert (answer.status_code, answer.json()["Error"]) == (403, "Forbidden")
    assert answer.json()["Fields"] == []
    assert "DateOfBirth" in answer.json()["Message"]
