"""AddComplaintDetail and GetComplaint."""

import datetime
from decimal import Decimal
from typing import Any

import pytest

from records.accounts.models import DefaultRole
from records.complaints.models import Complaint
from records.history.models import Change
from records.reference.models import Brand, ComplaintMethod, ComplaintSource, Product, ProductionUnit, Title
from tests import make
from tests.make.complaints import complaint_body, make_draft, make_entry
from tests.make.customers import make_customer

ADD = "/complaint/AddComplaintDetail"
GET = "/complaint/GetComplaint/"


def test_an_added_complaint_reads_back_whole(api: Any) -> None:
    site = api.key.site
    body = complaint_body(
        site,
        Date="2012-04-23T18:25:43.511Z",
        SourceId=str(make_entry(ComplaintSource, site).pk),
        SourceDetails="Letter of 20 April",
        MethodId=str(make_entry(ComplaintMethod, site).pk),
        SampleDetails="One loaf, opened",
        ConsumerSalutationId=str(Title.objects.get(code="MS").pk),
        ConsumerFirstName="Ida",
        ConsumerLastName="Okafor",
        ConsumerAddress="3 Quay Row\nHarbour",
        ConsumerPurchased="Corner shop",
        ConsumerPhone="+64 3 555 0101",
        ConsumerMobile="+64 21 555 010",
        ConsumerEmail="ida@example.org",
        Quantity=2.5,
        ManufactureDate="2012-04-18",
        ExpirationDate="2012-04-25T00:00:00+12:00",
        TraceNumber="L2012-109",
        BrandId=str(make_entry(Brand, site).pk),
        ProductionUnitId=str(make_entry(ProductionUnit, site).pk),
        ComplaintDescription="A piece of blue plastic in the crumb.",
        ReasonForChange="Taken over from the old register",
    )
    answer = api.post(ADD, body)
    assert answer.status_code == 200, answer.content
    key = answer.json()["Id"]
    assert answer.json() == {"Error": "", "Message": "Success.", "Id": key}
    shape = api.get(GET + key.upper()).json()
    user = str(api.key.user.pk)
    expected = {name: value for name, value in body.items() if name != "ReasonForChange"}
    assert shape == {
        **expected,
        "Id": key,
        "SiteSequenceId": 1,
        "RecordStatus": "Awaiting Review",
        "ManufactureDate": "2012-04-18T00:00:00.000Z",
        "ExpirationDate": "2012-04-24T12:00:00.000Z",
        "ReviewReport": "",
        "Created": shape["Created"],
        "CreatedBy": user,
        "LastModified": shape["Created"],
        "LastModifiedBy": user,
    }
    change = Change.objects.get(record_id=key)
    assert (change.operation, change.reason, change.author_id, change.channel) == (
        "AddComplaintDetail",
        "Taken over from the old register",
        api.key.user.pk,
        "API",
    )
    assert change.credential == "Test key"
    assert {"field": "quantity", "old": None, "new": "2.5000"} in change.fields


def test_a_complaint_with_the_required_fields_alone_shows_the_others_empty(api: Any) -> None:
    body = complaint_body(api.key.site)
    before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=1)
    key = api.post(ADD, body).json()["Id"]
    shape = api.get(GET + key).json()
    date = datetime.datetime.fromisoformat(shape["Date"])
    assert before <= date <= datetime.datetime.now(datetime.UTC)
    empty = {name for name, value in shape.items() if value is None}
    assert empty == {
        "SourceId",
        "MethodId",
        "ConsumerSalutationId",
        "Quantity",
        "ManufactureDate",
        "ExpirationDate",
        "BrandId",
        "ProductionUnitId",
    }
    assert {name for name, value in shape.items() if value == ""} == {
        "SourceDetails",
        "SampleDetails",
        "ConsumerFirstName",
        "ConsumerLastName",
        "ConsumerAddress",
        "ConsumerPurchased",
        "ConsumerPhone",
        "ConsumerMobile",
        "ConsumerEmail",
        "TraceNumber",
        "ComplaintDescription",
        "ReviewReport",
    }


def test_a_date_of_null_counts_as_none_given(api: Any) -> None:
    key = api.post(ADD, complaint_body(api.key.site, Date=None)).json()["Id"]
    assert api.get(GET + key).json()["Date"] is not None


@pytest.mark.parametrize(
    "text", ["0", "0.0001", "12345678901.2345", "99999999999.9999", "7", "1e3", "2.50", "-0", "0.1"]
)
def test_a_quantity_comes_back_without_loss(api: Any, text: str) -> None:
    import orjson

    body = orjson.dumps({**complaint_body(api.key.site), "Quantity": orjson.Fragment(text)})
    answer = api.post(ADD, body)
    assert answer.status_code == 200, answer.content
    key = answer.json()["Id"]
    read = api.get(GET + key).content
    quantity = read.partition(b'"Quantity":')[2].partition(b",")[0].decode()
    assert Decimal(quantity) == Decimal(text)
    assert "e" not in quantity.lower()
    assert Complaint.objects.get(pk=key).quantity == Decimal(text)


@pytest.mark.parametrize(
    "text",
    [
        "874662070036053953.96",
        "100000000000",
        "0.00001",
        "-1",
        "-0.0001",
        "1e400",
        "1e-400",
        "NaN",
        "Infinity",
        '"5"',
        "true",
        "[1]",
        "9" * 400,
    ],
)
def test_a_quantity_that_does_not_fit_is_refused(api: Any, text: str) -> None:
    import orjson

    body = orjson.dumps({**complaint_body(api.key.site), "Quantity": 0}).replace(
        b'"Quantity":0', f'"Quantity":{text}'.encode()
    )
    answer = api.post(ADD, body)
    assert answer.status_code == 400, answer.content
    assert not Complaint.objects.exists()
    if answer.json()["Error"] == "ValidationFailed":
        assert [one["Field"] for one in answer.json()["Fields"]] == ["Quantity"]


def test_every_fault_of_a_complaint_is_named_at_once(api: Any, other_site: Any) -> None:
    body = complaint_body(
        api.key.site,
        CustomerId="abc",
        ProductId=str(make_entry(Product, other_site).pk),
        ConsumerEmail="nobody",
        ConsumerFirstName="A\u0000",
        TraceNumber="x" * 256,
        CustmerId="x",
        Date="2024-05-31T08:30:00",
        ManufactureDate="9999-12-31T23:59:59-03:00",
        ReasonForChange="r" * 1001,
        Lat="1",
    )
    del body["NonconformanceId"]
    answer = api.post(ADD, body)
    assert answer.status_code == 400
    assert {(one["Field"], one["Code"]) for one in answer.json()["Fields"]} == {
        ("CustomerId", "InvalidReference"),
        ("ProductId", "InvalidReference"),
        ("ConsumerEmail", "InvalidValue"),
        ("ConsumerFirstName", "InvalidValue"),
        ("TraceNumber", "ValueTooLong"),
        ("CustmerId", "UnknownField"),
        ("Date", "InvalidDate"),
        ("ManufactureDate", "InvalidDate"),
        ("ReasonForChange", "ValueTooLong"),
        ("Lat", "UnknownField"),
        ("NonconformanceId", "RequiredField"),
    }
    assert not Complaint.objects.exists()
    assert not Change.objects.filter(model="complaints.Complaint").exists()


def test_expiration_before_manufacture_is_refused(api: Any) -> None:
    body = complaint_body(api.key.site, ManufactureDate="2024-05-02", ExpirationDate="2024-05-01")
    answer = api.post(ADD, body)
    assert answer.status_code == 400
    assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [("ExpirationDate", "InvalidValue")]


def test_another_sites_record_is_worded_as_one_that_does_not_exist(api: Any, other_site: Any) -> None:
    foreign = str(make_customer(other_site).pk)
    missing = "00000000-0000-4000-8000-000000000000"
    body = complaint_body(api.key.site)
    messages = []
    for key in (foreign, missing):
        answer = api.post(ADD, {**body, "CustomerId": key})
        assert answer.status_code == 400
        messages.append([(one["Field"], one["Code"], one["Message"]) for one in answer.json()["Fields"]])
    assert messages[0] == messages[1]
    assert messages[0][0][:2] == ("CustomerId", "InvalidReference")


def test_an_archived_entry_is_refused_on_a_new_complaint_and_stays_on_an_old_one(api: Any) -> None:
    site = api.key.site
    product = make_entry(Product, site)
    body = complaint_body(site, ProductId=str(product.pk))
    key = api.post(ADD, body).json()["Id"]
    make.archive(product)
    refusal = api.post(ADD, body)
    assert refusal.status_code == 400
    assert [(one["Field"], one["Code"]) for one in refusal.json()["Fields"]] == [("ProductId", "InvalidReference")]
    answer = api.put(
        f"/complaint/UpdateComplaintDetail/{key}", {**body, "TraceNumber": "L1", "ReasonForChange": "Lot found"}
    )
    assert answer.status_code == 200, answer.content
    assert api.get(GET + key).json()["ProductId"] == str(product.pk)


def test_read_only_fields_sent_back_are_ignored(api: Any) -> None:
    body = complaint_body(
        api.key.site, Id="x", SiteSequenceId=99, RecordStatus="Completed", ReviewReport="closed", Created="now"
    )
    key = api.post(ADD, body).json()["Id"]
    shape = api.get(GET + key).json()
    assert (shape["SiteSequenceId"], shape["RecordStatus"], shape["ReviewReport"]) == (1, "Awaiting Review", "")
    assert shape["Id"] != "x"


def test_a_repeated_add_with_one_idempotency_key_makes_one_complaint(api: Any) -> None:
    body = complaint_body(api.key.site)
    first = api.post(ADD, body, **{"Idempotency-Key": "order-77"})
    second = api.post(ADD, body, **{"Idempotency-Key": "order-77"})
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert Complaint.objects.count() == 1
    other = api.post(ADD, {**body, "TraceNumber": "L2"}, **{"Idempotency-Key": "order-77"})
    assert (other.status_code, other.json()["Error"]) == (409, "IdempotencyMismatch")
    assert Complaint.objects.count() == 1


def test_a_standard_user_adds_and_a_reader_does_not(api_of: Any, site: Any) -> None:
    body = complaint_body(site)
    assert api_of(DefaultRole.READER).post(ADD, body).status_code == 403
    assert api_of(DefaultRole.STANDARD).post(ADD, body).status_code == 200


def test_a_draft_does_not_exist_for_the_interface(api: Any) -> None:
    draft = make_draft(api.key.site, trace_number="L9")
    assert api.get(f"{GET}{draft.pk}").status_code == 404
    update = api.put(
        f"/complaint/UpdateComplaintDetail/{draft.pk}",
        {**complaint_body(api.key.site), "ReasonForChange": "x"},
        **{"If-Match": '"99"'},
    )
    assert update.status_code == 404
    answer = api.get("/complaint/GetComplaintList")
    assert (answer.json(), answer["X-Total-Count"]) == ([], "0")
    filtered_answer = api.get("/complaint/GetComplaintList?traceNumber=L9")
    assert (filtered_answer.json(), filtered_answer["X-Total-Count"]) == ([], "0")
    assert api.get("/complaint/GetComplaintList?recordStatus=draft").json() == []
