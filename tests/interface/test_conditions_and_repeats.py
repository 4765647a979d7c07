"""What headers ask of a write: to be done once only, or only to the record as it was read. None is ignored."""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from records.accounts import keys
from records.accounts.models import KeptAnswer, SubscriptionKey
from records.history.models import Change
from tests import make
from tests.conftest import Api
from tests.interface.subjects import ENDPOINT_OPERATIONS, body_for, ids_of, model_of, path_of, record_for
from tests.interface.test_doors import is_error
from tests.make.oauth import make_token

QUIET = settings(max_examples=20, deadline=None, database=None, suppress_health_check=list(HealthCheck))

write_operations = [entry for entry in ENDPOINT_OPERATIONS if entry[0].writes]
id_operations = [entry for entry in write_operations if entry[0].takes_id]
every_id_operation = pytest.mark.parametrize(("operation", "viewset"), id_operations, ids=ids_of(id_operations))
add_operations = [entry for entry in write_operations if entry[0].adds]
every_add_operation = pytest.mark.parametrize(("operation", "viewset"), add_operations, ids=ids_of(add_operations))


every_write_operation = pytest.mark.parametrize(
    ("operation", "viewset"), write_operations, ids=ids_of(write_operations)
)


def body_of(operation: Any, site: Any) -> Any:
    """Return a body that the operation accepts, or None where it takes none."""
    return body_for(operation, site) if operation.request is not None else None


@every_id_operation
def test_a_repeat_of_an_update_under_one_idempotency_key_writes_once(operation: Any, viewset: Any, api: Any) -> None:
    site = api.key.site
    record, other = record_for(operation, site), record_for(operation, site)
    path, body = path_of(operation, viewset, record.pk), body_of(operation, site)
    once = {"Idempotency-Key": "k-1", "If-Match": f'"{record.revision}"'}
    first = api.send(operation.method, path, body, **once)
    assert first.status_code == 200, first.content
    before = Change.objects.count()
    again = api.send(operation.method, path, body, **once)
    assert (again.status_code, again.content, again["ETag"]) == (200, first.content, first["ETag"])
    assert again["Idempotency-Replayed"] == "true"
    elsewhere = api.send(operation.method, path_of(operation, viewset, other.pk), body, **{"Idempotency-Key": "k-1"})
    assert is_error(elsewhere, 409, "IdempotencyMismatch")
    assert Change.objects.count() == before


@every_id_operation
def test_an_update_heeds_if_none_match(operation: Any, viewset: Any, api: Any) -> None:
    record = record_for(operation, api.key.site)
    path, body = path_of(operation, viewset, record.pk), body_of(operation, api.key.site)
    before = Change.objects.count()
    for header in ("*", f'"{record.revision}"', f'"99", W/"{record.revision}"', f'"{record.revision}-r"'):
        answer = api.send(operation.method, path, body, **{"If-None-Match": header})
        assert is_error(answer, 412, "PreconditionFailed"), header
    assert Change.objects.count() == before
    assert api.send(operation.method, path, body, **{"If-None-Match": '"99"'}).status_code == 200


def test_a_tag_that_no_record_ever_had_is_412_whatever_number_it_holds(api: Any) -> None:
    operation, viewset = next(entry for entry in id_operations if entry[0].name == "UpdateItem")
    path = path_of(operation, viewset, record_for(operation, api.key.site).pk)
    for tag in ("1" * 5_000, "99999999999999999999", "01", "1-R", "²", "-1", ""):
        answer = api.put(path, {"Notes": "x"}, **{"If-Match": f'"{tag}"'})
        assert is_error(answer, 412, "PreconditionFailed"), tag
        assert api.put(path, {"Notes": ""}, **{"If-None-Match": f'"{tag}"'}).status_code == 200, tag


@every_add_operation
def test_an_add_with_if_match_is_refused(operation: Any, viewset: Any, api: Any) -> None:
    path, body = path_of(operation, viewset), body_of(operation, api.key.site)
    before = Change.objects.count()
    for header in ("*", '"1"', ""):
        assert is_error(api.send(operation.method, path, body, **{"If-Match": header}), 412, "PreconditionFailed"), (
            header
        )
    assert Change.objects.count() == before
    assert api.send(operation.method, path, body, **{"If-None-Match": "*"}).status_code == 200


@every_write_operation
def test_a_repeat_with_the_successor_of_a_rotated_key_writes_nothing(operation: Any, viewset: Any, api: Any) -> None:
    path = path_of(operation, viewset, record_for(operation, api.key.site).pk if operation.takes_id else "")
    body, once = body_of(operation, api.key.site), {"Idempotency-Key": "order 77"}
    first = api.send(operation.method, path, body, **once)
    assert first.status_code == 200, first.content
    key = SubscriptionKey.objects.get(user=api.key.user)
    _, secret = keys.rotate_key(key.pk, author=make.SYSTEM)
    keys.revoke_key(key.pk, author=make.SYSTEM)
    own = Change.objects.filter(model=model_of(operation)._meta.label)
    before = own.count()
    again = type(api)(make.Key(api.key.user, api.key.site, secret), Authorization=api.headers.get("Authorization", ""))
    answer = again.send(operation.method, path, body, **once)
    assert (answer.status_code, answer.content) == (200, first.content)
    assert answer["Idempotency-Replayed"] == "true"
    assert own.count() == before


@every_add_operation
def test_an_idempotency_key_of_another_user_or_operation_is_another_one(operation: Any, viewset: Any, api: Any) -> None:
    path, body, once = path_of(operation, viewset), body_of(operation, api.key.site), {"Idempotency-Key": "order 77"}
    other = make.make_key(api.key.site)
    other_api = type(api)(other, Authorization=f"Bearer {make_token(other.user)}")
    answers = [one.send(operation.method, path, body, **once) for one in (api, other_api)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json()["Id"] != answers[1].json()["Id"]
    elsewhere = "/customer/AddCustomer" if path.startswith("/item") else "/item/AddItem"
    assert Api(api.key).post(elsewhere, {"Name": "Mixer"}, **once).status_code == 200


@every_add_operation
def test_an_idempotency_key_at_another_site_is_another_one(
    operation: Any, viewset: Any, api: Any, other_site: Any
) -> None:
    once = {"Idempotency-Key": "order 77"}
    make.give_role(api.key.user, other_site, make.DefaultRole.MANAGER)
    clients: list[Any] = [api, Api(make.make_key(other_site, user=api.key.user))]
    records: Any = model_of(operation)._default_manager
    for client in clients:
        answer = client.send(operation.method, path_of(operation, viewset), body_of(operation, client.key.site), **once)
        assert (answer.status_code, "Idempotency-Replayed" in answer) == (200, False), answer.content
        assert records.get(pk=answer.json()["Id"]).site_id == client.key.site.pk


@every_write_operation
def test_what_several_headers_ask_for_holds_together(operation: Any, viewset: Any, api: Any, settings: Any) -> None:
    settings.RATE_LIMIT = 1_000_000
    site, numbers = api.key.site, itertools.count()
    record = record_for(operation, site) if operation.takes_id else None
    path, body = path_of(operation, viewset, record.pk if record else ""), body_of(operation, site)
    if operation.entry_response is not None:  # A material that its externalId names.
        record = model_of(operation)._default_manager.get(pk=api.send(operation.method, path, body).json()["Id"])

    def tags() -> st.SearchStrategy[str | None]:
        return st.sampled_from([None, None, "current", "weak", "several", "stale", "none", "*"])

    def header_of(tag: str | None, revision: int) -> str | None:
        tags = {"current": f'"{revision}"', "weak": f'W/"{revision}"', "stale": f'"{revision + 7}"', "none": '"x"'}
        return f'"0", {tags["current"]}' if tag == "several" else tags.get(tag or "", tag)

    @QUIET
    @given(
        match=tags(),
        none_match=tags(),
        once=st.booleans(),
        check=st.sampled_from(["", "0", "1", "TRUE"]),
        ok=st.booleans(),
    )
    def send(match: str | None, none_match: str | None, once: bool, check: str, ok: bool) -> None:
        number = next(numbers)
        revision = type(record).objects.get(pk=record.pk).revision if record else 1
        conditions = {"If-Match": header_of(match, revision), "If-None-Match": header_of(none_match, revision)}
        headers = {name: value for name, value in conditions.items() if value is not None}
        if once:
            headers["Idempotency-Key"] = f"k-{number}"
        wrong = not ok and body is not None
        payload = {**body, "Nonsense": 1} if wrong else body
        where = f"{path}?validateOnly={check}" if check else path
        before = (Change.objects.count(), KeptAnswer.objects.count(), model_of(operation)._default_manager.count())
        answer = api.send(operation.method, where, payload, **headers)
        fits = match is None if operation.adds else match not in ("stale", "none")
        fits = fits and (operation.adds or none_match in (None, "stale", "none"))
        after = (Change.objects.count(), KeptAnswer.objects.count(), model_of(operation)._default_manager.count())
        if wrong or not fits:
            expected = {400} if fits else {400, 412} if wrong else {412}
            assert answer.status_code in expected, (headers, answer.content)
            assert after == before
        elif check in ("1", "TRUE"):
            assert (answer.status_code, answer.json()["Message"]) == (200, "Valid."), (headers, answer.content)
            assert after == before
        else:
            assert (answer.status_code, answer.json()["Message"]) == (200, "Success."), (headers, answer.content)
            assert after[1] == before[1] + once
            assert after[0] <= before[0] + 1
            if once:
                again = api.send(operation.method, where, payload, **headers)
                assert (again.content, again["Idempotency-Replayed"]) == (answer.content, "true")
                assert Change.objects.count() == after[0]

    send()
