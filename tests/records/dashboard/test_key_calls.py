"""Recent calls of keys: noted without a query, written together, kept short, shown to those whose keys they are."""

import datetime
import threading
import time
import uuid
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError
from django.urls import reverse

from records.accounts import calls as kept_calls
from records.accounts import keys
from records.accounts.models import DefaultRole, KeyCall, SubscriptionKey
from records.history.trail import now
from records.operations import calls
from records.operations.calls import buffer
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.backoffice import browser, sign_in

LIST = "/employee/GetEmployeeList"


def key_of(api: Api) -> SubscriptionKey:
    assert api.key is not None
    return SubscriptionKey.objects.get(user=api.key.user)


def stored_calls(key: SubscriptionKey) -> list[tuple[str, int]]:
    """Flush the buffer and return the operation and status of the key's stored calls, oldest first."""
    buffer.flush()
    return list(KeyCall.objects.filter(key=key).order_by("id").values_list("operation", "status"))


def test_calls_are_kept_however_they_ended(api: Api, site: Site, settings: Any) -> None:
    key = key_of(api)
    api.get(LIST)
    api.get("/employee/GetEmployee/nonsense")
    api.post("/employee/AddEmployee", {"FirstName": "Ada"})
    api.send("DELETE", LIST)
    settings.RATE_LIMIT = 1
    api.get(LIST)
    keys.revoke_key(key.pk, author=make.SYSTEM)
    answer = api.get(LIST)
    assert stored_calls(key) == [
        ("GetEmployeeList", 200),
        ("GetEmployee", 400),
        ("AddEmployee", 400),
        ("DELETE /employee", 405),
        ("GetEmployeeList", 429),
        ("GetEmployeeList", 401),
    ]
    last = KeyCall.objects.filter(key=key).latest("id")
    assert str(last.request_id) == answer["X-Request-Id"]
    assert abs(last.at - now()) < datetime.timedelta(minutes=1)
    assert last.duration_ms >= 0


def test_calls_under_a_role_too_low_or_an_expired_key_or_a_wrong_token_are_kept(site: Site, api_of: Any) -> None:
    reader = api_of(DefaultRole.READER)
    reader.post("/employee/AddEmployee", make.employee_body())
    reader.get("/materials/", {"siteId": str(site.pk)}, Authorization="Bearer la_nothing")
    SubscriptionKey.objects.filter(user=reader.key.user).update(expires=now() - datetime.timedelta(seconds=1))
    reader.get(LIST)
    assert stored_calls(key_of(reader)) == [("AddEmployee", 403), ("GetListOfMaterial", 401), ("GetEmployeeList", 401)]


def test_a_key_that_nobody_has_leaves_nothing(db: None) -> None:
    Api(None, **{"Ocp-Apim-Subscription-Key": "lk_nothing"}).get(LIST)
    Api().get(LIST)
    assert buffer.flush() == 0


def test_noting_a_call_asks_the_database_nothing(api: Api, site: Site, django_assert_num_queries: Any) -> None:
    one = f"/employee/GetEmployee/{make.make_employee(site).pk}"
    api.get(one)
    with django_assert_num_queries(1):
        api.get(one)
    assert len(stored_calls(key_of(api))) == 2


def test_only_the_newest_calls_of_a_week_are_kept(api: Api) -> None:
    key = key_of(api)
    old = now() - kept_calls.RETENTION - datetime.timedelta(minutes=1)
    KeyCall.objects.create(key=key, at=old, operation="Old", status=200, duration_ms=1, request_id=uuid.uuid4())
    keeper = kept_calls.CallKeeper()
    for start in range(0, 180, 60):
        keeper.keep([row(key, number) for number in range(start, start + 60)])
    operations = list(KeyCall.objects.filter(key=key).order_by("id").values_list("operation", flat=True))
    assert operations == [f"Call {number}" for number in range(80, 180)]
    assert [call.operation for call in kept_calls.recent_calls([key.pk], 2)] == ["Call 179", "Call 178"]


def row(key: SubscriptionKey, number: int) -> KeyCall:
    moment = now() + datetime.timedelta(milliseconds=number)
    return KeyCall(key=key, at=moment, operation=f"Call {number}", status=200, duration_ms=1, request_id=uuid.uuid4())


def test_memory_holds_the_newest_calls_of_so_many_keys_and_no_more(monkeypatch: Any) -> None:
    monkeypatch.setattr(calls, "MOST_KEYS", 2)
    apart = calls.CallBuffer()
    batch: list[KeyCall] = []
    monkeypatch.setattr(apart._keeper, "keep", batch.extend)
    ids = [uuid.uuid4() for _ in range(3)]
    for number in range(kept_calls.NEWEST + 5):
        for key_id in ids:
            apart.note(key_id, f"Call {number}", 200, 1.0, str(uuid.uuid4()))
    assert apart.flush() == 2 * kept_calls.NEWEST
    assert {call.key_id for call in batch} == set(ids[:2])
    assert {call.operation for call in batch} == {f"Call {number}" for number in range(5, kept_calls.NEWEST + 5)}


@pytest.mark.parametrize(("error", "count"), [(OperationalError, 2), (DatabaseError, 1)])
def test_calls_wait_while_the_database_is_away_and_a_faulty_one_holds_up_nothing(
    monkeypatch: Any, error: type[Exception], count: int
) -> None:
    apart = calls.CallBuffer()
    apart.note(uuid.uuid4(), "First", 200, 1.0, str(uuid.uuid4()))

    def fail(rows: Any) -> None:
        raise error

    monkeypatch.setattr(apart._keeper, "keep", fail)
    with pytest.raises(error):
        apart.flush()
    apart.note(uuid.uuid4(), "Second", 200, 1.0, str(uuid.uuid4()))
    monkeypatch.setattr(apart._keeper, "keep", lambda rows: None)
    assert apart.flush() == count


def test_a_call_is_answered_where_the_system_has_no_thread_left_and_the_next_one_starts_it(monkeypatch: Any) -> None:
    apart, threads = calls.CallBuffer(), list[threading.Thread]()
    apart._is_enabled = True

    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def note_thread(thread: threading.Thread) -> None:
        threads.append(thread)

    for start in (no_thread, note_thread, note_thread):
        monkeypatch.setattr(threading.Thread, "start", start)
        apart.note(uuid.uuid4(), "AddItem", 200, 1.0, str(uuid.uuid4()))
    assert [thread.name for thread in threads] == ["recent calls"]
    assert len(apart._calls) == 3


def test_a_thread_writes_from_the_first_call_on_and_once_more_at_the_end(monkeypatch: Any) -> None:
    monkeypatch.setattr(calls, "WRITE_EVERY", 0.01)
    apart = calls.CallBuffer()
    apart._is_enabled = True
    operations: list[str] = []
    first = threading.Event()

    def flush() -> int:
        with apart._lock:
            batch, apart._calls = apart._calls, {}
        operations.extend(call.operation for of_key in batch.values() for call in of_key)
        first.set()
        return len(batch)

    monkeypatch.setattr(apart, "_flush_apart", flush)
    apart.note(uuid.uuid4(), "First", 200, 1.0, str(uuid.uuid4()))
    assert first.wait(10)
    monkeypatch.setattr(calls, "WRITE_EVERY", 60.0)
    apart.note(uuid.uuid4(), "Second", 200, 1.0, str(uuid.uuid4()))
    start = time.monotonic()
    apart.end()
    assert operations == ["First", "Second"]
    assert time.monotonic() - start < 30


def test_the_profile_shows_the_calls_of_the_own_keys(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.READER)
    client = sign_in(user, site)
    api = Api(make.make_key(site, user=user))
    key = key_of(api)
    page = reverse("key-calls", args=(key.pk,))
    assert "No call was made with these keys" in client.get("/profile/").content.decode()
    assert "has made no call" in client.get(page).content.decode()
    api.get(LIST)
    api.post("/employee/AddEmployee", {})
    buffer.flush()
    profile = client.get("/profile/").content.decode()
    assert "GetEmployeeList" in profile
    assert page in profile
    lines = client.get(page).context["calls"]
    assert [(line["row"].operation, line["row"].status, line["meaning"]) for line in lines] == [
        ("AddEmployee", 403, "Forbidden"),
        ("GetEmployeeList", 200, "OK"),
    ]
    answer = client.get(f"{page}?outcome=failed")
    assert [line["row"].operation for line in answer.context["calls"]] == ["AddEmployee"]


def test_a_page_of_calls_costs_the_same_for_any_number(site: Site, django_assert_max_num_queries: Any) -> None:
    user = make.make_user(site=site, role=DefaultRole.READER)
    client = sign_in(user, site)
    key = key_of(Api(make.make_key(site, user=user)))
    KeyCall.objects.bulk_create([row(key, number) for number in range(150)])
    with django_assert_max_num_queries(8):
        answer = client.get(reverse("key-calls", args=(key.pk,)))
    assert len(answer.context["calls"]) == kept_calls.NEWEST


def test_calls_of_others_are_hidden_but_for_service_accounts_that_one_administers(
    site: Site, other_site: Site, client: Any
) -> None:
    person = key_of(Api(make.make_key(site)))
    robot = make.make_user(site=site, role=DefaultRole.STANDARD, is_service_account=True)
    sync = key_of(Api(make.make_key(site, user=robot)))
    administrator = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert administrator.get(reverse("key-calls", args=(sync.pk,))).status_code == 200
    assert administrator.get(reverse("key-calls", args=(person.pk,))).status_code == 404
    for stranger in (browser(site), browser(other_site, DefaultRole.SITE_ADMINISTRATOR)):
        assert stranger.get(reverse("key-calls", args=(sync.pk,))).status_code == 404
    assert client.get(reverse("key-calls", args=(sync.pk,)))["Location"].startswith("/admin/login/")
