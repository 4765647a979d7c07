"""POST /employee/AddJobDescription, and what those who hold it read of it."""

from typing import Any

from tests import make


def test_who_holds_a_job_description_has_changed_for_readers(api: Any) -> None:
    holder, other = make.make_employee(api.key.site), make.make_employee(api.key.site)
    before = {one.pk: api.get(f"/employee/GetEmployee/{one.pk}") for one in (holder, other)}
    key = api.post("/employee/AddJobDescription", {"Name": "Baker", "Employee": [{"Id": str(holder.pk)}]}).json()["Id"]
    after = api.get(f"/employee/GetEmployee/{holder.pk}")
    assert after.json()["JobDescription"] == [{"Id": key}]
    assert after["ETag"] != before[holder.pk]["ETag"]
    assert after.json()["LastModified"] > before[holder.pk].json()["LastModified"]
    assert after.json()["LastModifiedBy"] == str(api.key.user.pk)
    moment = after.json()["LastModified"]
    rows = api.get("/employee/GetEmployeeList", {"modifiedSince": moment}).json()
    assert [one["Id"] for one in rows] == [str(holder.pk)]
    assert api.get(f"/employee/GetEmployee/{other.pk}").content == before[other.pk].content


def test_an_archived_holder_is_named_with_the_other_faults(api: Any) -> None:
    holder, former = make.make_employee(api.key.site), make.make_employee(api.key.site, is_archived=True)
    body = {"Name": "", "Employee": [{"Id": str(holder.pk)}, {"Id": str(former.pk)}]}
    answer = api.post("/employee/AddJobDescription", body)
    assert [(fault["Field"], fault["Code"]) for fault in answer.json()["Fields"]] == [
        ("Name", "RequiredField"),
        ("Employee[1].Id", "InvalidReference"),
    ]
