"""What every request meets: sizes, limits, dates, numbers and text, as reported from the field."""

import datetime
import json
import sqlite3
import time
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction

from records.accounts import keys, opening
from records.accounts.models import SubscriptionKey
from records.history.trail import now
from records.operations import errors, values
from records.operations.names import nearest, snake
from tests import make
from tests.conftest import Api
from tests.interface.test_doors import is_error
from tests.make.locks import lock_tables


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2012-04-23T18:25:43.511Z", "2012-04-23T18:25:43.511Z"),
        ("2012-04-23T18:25:43Z", "2012-04-23T18:25:43.000Z"),
        ("2012-04-23T18:25:43.5119999Z", "2012-04-23T18:25:43.511Z"),
        ("2012-04-23T18:25:43.5+02:00", "2012-04-23T16:25:43.500Z"),
        ("2012-04-23t18:25:43z", "2012-04-23T18:25:43.000Z"),
        ("2012-04-23", "2012-04-23T00:00:00.000Z"),
        ("0001-01-01", "0001-01-01T00:00:00.000Z"),
        ("0001-01-01T00:00:00-05:00", "0001-01-01T05:00:00.000Z"),
    ],
)
def test_dates_are_read_with_any_offset_and_shown_with_three_digits(text: str, read: str, api: Any) -> None:
    body = make.employee_body(CommencementDate=text)
    key = api.post("/employee/AddEmployee", body).json()["Id"]
    shape = api.get(f"/employee/GetEmployee/{key}").json()
    assert shape["CommencementDate"] == read
    assert len(shape["Created"]) == len("2012-04-23T18:25:43.511Z")


@pytest.mark.parametrize(
    "value",
    [
        "9999-12-31T21:59:59.999-03:00",
        "0001-01-01T00:00:00.000+01:00",
        "2012-04-23T18:25:43",
        "2012-02-30",
        "2012-04-23T24:00:00Z",
        "2012-04-23T18:25:43.12345678Z",
        "2012-04-23T18:25:43+25:00",
        "23.04.2012",
        "٢٠١٢-04-23",
        "0000-01-01",
        " ",
        1335205543511,
        ["2012-04-23"],
    ],
)
def test_what_is_no_date_in_our_calendar_names_its_field(value: Any, api: Any) -> None:
    answer = api.post("/employee/AddEmployee", make.employee_body(CommencementDate=value))
    assert is_error(answer, 400, "ValidationFailed")
    assert answer.json()["Fields"][0]["Field"] == "CommencementDate"
    assert answer.json()["Fields"][0]["Code"] == "InvalidDate"


def test_text_is_normalised_on_the_way_in(api: Any) -> None:
    body = make.employee_body(LastName="Cafe\u0301", Address="a\r\nb\rc\td")
    key = api.post("/employee/AddEmployee", body).json()["Id"]
    shape = api.get(f"/employee/GetEmployee/{key}").json()
    assert (shape["LastName"], shape["Address"]) == ("Caf\u00e9", "a\nb\nc\td")


@pytest.mark.parametrize("text", ["a\u0000", "a\u0007b", "\u001b[0m"])
def test_control_characters_are_refused(text: str, api: Any) -> None:
    answer = api.post("/employee/AddEmployee", make.employee_body(FirstName=text))
    assert answer.json()["Fields"][0]["Field"] == "FirstName"


def test_lone_surrogates_are_refused(api: Any) -> None:
    body = json.dumps(make.employee_body(FirstName="A?")).replace("A?", "\\ud800")
    assert api.post("/employee/AddEmployee", body).status_code == 400


def test_lengths_are_counted_in_characters(api: Any) -> None:
    assert api.post("/employee/AddEmployee", make.employee_body(FirstName="é" * 255)).status_code == 200
    answer = api.post("/employee/AddEmployee", make.employee_body(FirstName="é" * 256))
    assert answer.json()["Fields"][0]["Code"] == "ValueTooLong"


def test_too_large_a_body_is_413_in_the_envelope(api: Any) -> None:
    answer = api.post("/employee/AddEmployee", '{"Notes": "' + "x" * 60_000_000 + '"}')
    assert is_error(answer, 413, "PayloadTooLarge")


@pytest.mark.parametrize("body", ['{"Notes": [%s1]}' % ("{}," * 200_001), "[%s1]" % ("1," * 200_001)])
def test_a_body_of_more_values_than_any_operation_takes_is_413_and_commas_in_texts_are_not_values(
    api: Any, body: str
) -> None:
    answer = api.post("/employee/AddEmployee", body)
    assert is_error(answer, 413, "PayloadTooLarge")
    answer = api.post("/employee/AddEmployee", '{"Notes": "%s"}' % (", " * 200_001))
    assert is_error(answer, 400, "ValidationFailed")


def test_a_limit_is_kept_per_key_whatever_the_caller_says_of_its_address(api: Any, settings: Any) -> None:
    settings.RATE_LIMIT = 3
    codes = [
        api.get("/employee/GetEmployeeList", **{"X-Forwarded-For": f"10.0.0.{number}"}).status_code
        for number in range(5)
    ]
    assert codes == [200, 200, 200, 429, 429]
    answer = api.get("/employee/GetEmployeeList")
    assert is_error(answer, 429, "RateLimited")
    assert int(answer["Retry-After"]) <= 60
    assert (answer["X-RateLimit-Limit"], answer["X-RateLimit-Remaining"]) == ("3", "0")
    other = Api(make.make_key(api.key.site))
    assert other.get("/employee/GetEmployeeList").status_code == 200


def test_wrong_keys_are_limited_by_address_while_valid_ones_still_work(api: Any, settings: Any) -> None:
    settings.AUTH_FAILURE_LIMIT = 3
    wrong = Api(**{"Ocp-Apim-Subscription-Key": "lk_no"})
    assert [wrong.get("/employee/GetEmployeeList").status_code for _ in range(5)] == [401, 401, 401, 429, 429]
    assert Api().get("/employee/GetEmployeeList").status_code == 401
    assert api.get("/employee/GetEmployeeList").status_code == 200


def test_an_expired_key_opens_nothing(api: Any) -> None:
    SubscriptionKey.objects.update(expires=now() - datetime.timedelta(seconds=1))
    assert is_error(api.get("/employee/GetEmployeeList"), 401, "Unauthorized")


def test_last_use_is_written_once_a_minute(api: Any) -> None:
    api.get("/employee/GetEmployeeList")
    first = SubscriptionKey.objects.get().last_used
    api.get("/employee/GetEmployeeList")
    assert first is not None
    assert SubscriptionKey.objects.get().last_used == first


@pytest.mark.django_db(transaction=True)
def test_a_read_is_served_where_the_note_of_the_last_use_cannot_be_written(api: Any) -> None:
    def full_disk(execute: Any, sql: str, *arguments: Any) -> Any:
        if sql.startswith("UPDATE"):
            refused_updates.append(sql)
            raise OperationalError("database or disk is full")
        return execute(sql, *arguments)

    refused_updates: list[str] = []
    before = SubscriptionKey.objects.get().last_used
    with connection.execute_wrapper(full_disk):
        assert api.get("/employee/GetEmployeeList").status_code == 200
    assert len(refused_updates) == 1
    assert SubscriptionKey.objects.get().last_used == before


@pytest.mark.django_db(transaction=True)
def test_a_read_does_not_wait_for_another_writer_in_order_to_note_the_last_use(api: Any) -> None:
    before = now() - datetime.timedelta(hours=1)
    SubscriptionKey.objects.update(last_used=before)
    start = time.monotonic()
    with lock_tables("accounts_subscriptionkey"):
        assert api.get("/employee/GetEmployeeList").status_code == 200
    # A write would have waited for ten seconds.
    assert time.monotonic() - start < 8
    assert SubscriptionKey.objects.get().last_used == before
    opening.forget()
    assert api.get("/employee/GetEmployeeList").status_code == 200
    assert SubscriptionKey.objects.get().last_used != before


def test_two_live_keys_are_allowed_for_rotation(api: Any) -> None:
    key = SubscriptionKey.objects.get()
    _, secret = keys.rotate_key(key.pk, author=make.SYSTEM)
    with pytest.raises(Exception, match="two valid keys"):
        keys.rotate_key(key.pk, author=make.SYSTEM)
    keys.revoke_key(key.pk, author=make.SYSTEM)
    assert api.get("/employee/GetEmployeeList").status_code == 401
    assert Api(**{"Ocp-Apim-Subscription-Key": secret}).get("/employee/GetEmployeeList").status_code == 200


def test_the_successor_of_a_key_that_expires_lives_as_long(api: Any) -> None:
    key = SubscriptionKey.objects.get()
    SubscriptionKey.objects.update(
        created=now() - datetime.timedelta(days=80), expires=now() + datetime.timedelta(days=10)
    )
    successor, _ = keys.rotate_key(key.pk, author=make.SYSTEM)
    assert successor.expires is not None
    lifetime = successor.expires - now()
    assert abs(lifetime - datetime.timedelta(days=90)) < datetime.timedelta(minutes=1)


def test_an_older_pepper_still_verifies(api: Any, settings: Any) -> None:
    settings.CREDENTIAL_PEPPERS = ["newer", *settings.CREDENTIAL_PEPPERS]
    assert api.get("/employee/GetEmployeeList").status_code == 200
    settings.CREDENTIAL_PEPPERS = ["newer"]
    assert api.get("/employee/GetEmployeeList").status_code == 401


def test_a_secret_is_stored_nowhere(api: Any) -> None:
    assert api.key.secret not in str(list(SubscriptionKey.objects.values()))


def test_a_key_of_an_inactive_account_or_archived_site_opens_nothing(api: Any) -> None:
    api.key.user.is_active = False
    api.key.user.save()
    assert api.get("/employee/GetEmployeeList").status_code == 401
    api.key.user.is_active = True
    api.key.user.save()
    assert api.get("/employee/GetEmployeeList").status_code == 200
    api.key.site.is_archived = True
    api.key.site.save()
    assert api.get("/employee/GetEmployeeList").status_code == 401


def test_a_database_out_of_reach_is_503(api: Any, monkeypatch: Any) -> None:
    def unreachable(secret: str) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr("records.operations.credentials.caller_of", unreachable)
    answer = api.get("/employee/GetEmployeeList")
    assert is_error(answer, 503, "Unavailable")
    assert answer["Retry-After"]


@pytest.mark.parametrize("statement", ["SELECT nothing FROM nowhere", "SELECT FROM WHERE", "SELECT no_such_function()"])
def test_a_faulty_statement_is_our_fault_and_not_the_databases(db: None, statement: str) -> None:
    with pytest.raises(DatabaseError) as error_info, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert errors.refusal_of(error_info.value).status == 500


@pytest.mark.parametrize(("code", "status"), [("BUSY", 503), ("LOCKED", 503), ("IOERR_READ", 503), ("ERROR", 500)])
def test_what_sqlite_says_by_its_code_decides_and_not_its_words(code: str, status: int) -> None:
    cause = sqlite3.OperationalError("no such syntax")
    cause.sqlite_errorcode = getattr(sqlite3, f"SQLITE_{code}")
    error = OperationalError("no such syntax")
    error.__cause__ = cause
    assert errors.refusal_of(error).status == status


def test_a_fault_inside_says_nothing_of_the_inside(api: Any, monkeypatch: Any) -> None:
    def broken(secret: str) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("records.operations.credentials.caller_of", broken)
    answer = api.get("/employee/GetEmployeeList")
    assert is_error(answer, 500, "InternalError")
    assert b"detail" not in answer.content


def test_wire_names_are_found_in_the_model() -> None:
    assert snake("PostalAddressPoBox") == "postal_address_po_box"
    assert snake("siteSequenceId") == "site_sequence_id"
    assert nearest("CustmerId", ["CustomerId", "ProductId"]) == "CustomerId"
    assert nearest("zzz", ["CustomerId"]) == ""


def test_numbers_are_shown_without_loss_and_without_needless_zeros() -> None:
    from decimal import Decimal

    import orjson

    for text, value in (("12.5000", "12.5"), ("0.0000", "0"), ("99999999999.9999", "99999999999.9999"), ("100", "100")):
        assert orjson.dumps(values.show_number(Decimal(text))).decode() == value


def test_a_byte_order_mark_is_named_since_nobody_sees_it(api: Any) -> None:
    for path in ("/item/AddItem", "/document/AddDocument"):
        answer = api.send("POST", path, b'\xef\xbb\xbf{"Name": "Scale"}')
        assert (answer.status_code, answer.json()["Error"]) == (400, "MalformedJson")
        assert "byte order mark" in answer.json()["Message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"Name": "\xc3("}', "it is not text in UTF-8"),
        (b'{"Name": "\xed\xa0\x80"}', "it is not text in UTF-8"),
        (b'{"Name": ' + b"9" * 5_000 + b"}", "a number is out of range"),
        (b'{"Name": 1e99999999999999999999}', "a number is out of range"),
        (b"[" * 20_000, "nested too deeply"),
    ],
    ids=["bytes", "surrogate", "digits", "exponent", "depth"],
)
def test_what_is_wrong_with_a_body_is_said_in_plain_words(body: bytes, message: str, api: Any) -> None:
    for path in ("/item/AddItem", "/document/AddDocument"):
        answer = api.send("POST", path, body)
        assert is_error(answer, 400, "MalformedJson")
        assert answer.json()["Message"] == f"The body is not valid JSON: {message}."
