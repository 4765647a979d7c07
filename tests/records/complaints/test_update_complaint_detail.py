"""UpdateComplaintDetail."""

from typing import Any

import pytest

from records.accounts.models import DefaultRole
from records.complaints.models import Complaint
from records.history.models import Change
from tests.make.complaints import complaint_body, make_completed

ADD = "/complaint/AddComplaintDetail"
GET = "/complaint/GetComplaint/"
UPDATE = "/complaint/UpdateComplaintDetail/"


@pytest.fixture
def body_and_key(api: Any) -> Any:
    """Return the body and the Id of a complaint."""
    body = complaint_body(api.key.site, TraceNumber="L1", Quantity=3, ComplaintDescription="Hair", Date="2024-05-31")
    return body, api.post(ADD, body).json()["Id"]


def test_an_update_changes_what_it_names_and_keeps_the_rest(api: Any, body_and_key: Any) -> None:
    body, key = body_and_key
    before = api.get(GET + key).json()
    required = {name: body[name] for name in ("CustomerId", "ProductId", "NonconformanceId")}
    answer = api.put(
        UPDATE + key, {**required, "TraceNumber": "L2", "Quantity": None, "ReasonForChange": "Lot misread"}
    )
    assert answer.status_code == 200, answer.content
    assert answer.json() == {"Error": "", "Message": "Success.", "Id": key}
    after = api.get(GET + key).json()
    assert after == {**before, "TraceNumber": "L2", "Quantity": None, "LastModified": after["LastModified"]}
    assert "ReasonForChange" not in after
    change = Change.objects.filter(record_id=key).latest("number")
    assert (change.operation, change.reason) == ("UpdateComplaintDetail", "Lot misread")
    assert change.fields == [
        {"field": "quantity", "old": "3.0000", "new": None},
        {"field": "trace_number", "old": "L1", "new": "L2"},
    ]


@pytest.mark.parametrize("missing", ["ReasonForChange", "CustomerId", "ProductId", "NonconformanceId"])
@pytest.mark.parametrize("value", ["absent", None, "", "  "])
def test_an_update_must_carry_what_the_document_requires(api: Any, body_and_key: Any, missing: str, value: Any) -> None:
    body, key = body_and_key
    update = {**body, "TraceNumber": "L2", "ReasonForChange": "Lot misread"}
    if value == "absent":
        del update[missing]
    else:
        update[missing] = value
    answer = api.put(UPDATE + key, update)
    assert answer.status_code == 400
    (fault,) = answer.json()["Fields"]
    assert fault["Field"] == missing
    assert fault["Code"] in ("RequiredField", "InvalidReference")
    assert api.get(GET + key).json()["TraceNumber"] == "L1"


def test_sending_the_read_shape_back_changes_nothing_and_leaves_no_entry(api: Any, body_and_key: Any) -> None:
    _, key = body_and_key
    before = api.get(GET + key).json()
    answer = api.put(UPDATE + key, {**before, "ReasonForChange": "Nothing really"})
    assert answer.status_code == 200, answer.content
    assert api.get(GET + key).json() == before
    assert Change.objects.filter(record_id=key).count() == 1


def test_the_status_cannot_be_changed_by_an_update(api: Any, body_and_key: Any) -> None:
    body, key = body_and_key
    update = {**body, "RecordStatus": "Completed", "ReviewReport": "done", "TraceNumber": "L3", "ReasonForChange": "x"}
    assert api.put(UPDATE + key, update).status_code == 200
    shape = api.get(GET + key).json()
    assert (shape["RecordStatus"], shape["ReviewReport"], shape["TraceNumber"]) == ("Awaiting Review", "", "L3")


def test_a_completed_complaint_is_changed_by_a_manager_only(api: Any, api_of: Any) -> None:
    site = api.key.site
    complaint = make_completed(site)
    body = {**complaint_body(site), "TraceNumber": "L9", "ReasonForChange": "Lot found later"}
    refusal = api_of(DefaultRole.STANDARD).put(f"{UPDATE}{complaint.pk}", body)
    assert (refusal.status_code, refusal.json()["Error"]) == (409, "InvalidTransition")
    assert "Manager" in refusal.json()["Message"]
    assert Complaint.objects.get(pk=complaint.pk).trace_number == ""
    answer = api.put(f"{UPDATE}{complaint.pk}", body)
    assert answer.status_code == 200, answer.content
    shape = api.get(f"{GET}{complaint.pk}").json()
    assert (shape["RecordStatus"], shape["TraceNumber"]) == ("Completed", "L9")


def test_a_rule_across_fields_counts_the_stored_values_too(api: Any, body_and_key: Any) -> None:
    body, key = body_and_key
    first = api.put(UPDATE + key, {**body, "ManufactureDate": "2024-05-02", "ReasonForChange": "x"})
    assert first.status_code == 200
    required = {name: body[name] for name in ("CustomerId", "ProductId", "NonconformanceId")}
    answer = api.put(UPDATE + key, {**required, "ExpirationDate": "2024-05-01", "ReasonForChange": "x"})
    assert answer.status_code == 400
    assert answer.json()["Fields"][0]["Field"] == "ExpirationDate"


def test_a_stale_if_match_is_refused(api: Any, body_and_key: Any) -> None:
    body, key = body_and_key
    tag = api.get(GET + key)["ETag"]
    first = api.put(UPDATE + key, {**body, "TraceNumber": "L2", "ReasonForChange": "x"}, **{"If-Match": tag})
    assert first.status_code == 200
    second = api.put(UPDATE + key, {**body, "TraceNumber": "L3", "ReasonForChange": "x"}, **{"If-Match": tag})
    assert (second.status_code, second.json()["Error"]) == (412, "PreconditionFailed")
    assert api.get(GET + key).json()["TraceNumber"] == "L2"


def test_another_sites_complaint_does_not_exist_here(api: Any, other_site: Any) -> None:
    complaint = make_completed(other_site)
    body = {**complaint_body(api.key.site), "ReasonForChange": "x"}
    answer = api.put(f"{UPDATE}{complaint.pk}", body)
    assert (answer.status_code, answer.json()["Error"]) == (404, "NotFound")
    assert api.get(f"{GET}{complaint.pk}").status_code == 404
