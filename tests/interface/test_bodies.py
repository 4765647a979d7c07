"""What bodies do, for every operation that takes one: strict, whole, and never a 500."""

import json
import re
import uuid
from itertools import product
from typing import Any

import pytest

from records.history.models import Change
from records.operations.errors import MOST_FAULTS
from records.operations.fields import MOST_IDS, MOST_ROWS, ReferenceField, TextListField
from records.operations.serializers import MOST_NAMES, ChildRows, IdList
from records.reference.models import SystemEntry
from records.sites.models import Site
from tests.interface.subjects import ENDPOINT_OPERATIONS, body_for, entry, ids_of, model_of, path_of, record_for
from tests.interface.test_doors import is_error

body_operations = [entry for entry in ENDPOINT_OPERATIONS if entry[0].request is not None]
every_body_operation = pytest.mark.parametrize(("operation", "viewset"), body_operations, ids=ids_of(body_operations))
add_operations = [entry for entry in body_operations if not entry[0].takes_id]
every_add_operation = pytest.mark.parametrize(("operation", "viewset"), add_operations, ids=ids_of(add_operations))
update_operations = [entry for entry in body_operations if entry[0].takes_id]
every_update_operation = pytest.mark.parametrize(
    ("operation", "viewset"), update_operations, ids=ids_of(update_operations)
)
WRONG = [
    5,
    -1,
    1.5,
    True,
    "x" * 20_001,
    "a\u0000b",
    "\ud800",
    [],
    [1],
    {},
    {"Id": 1},
    [{"Id": "x"}],
    [[]],
    10**30,
    "abc",
]
NO_OBJECTS = (
    "",
    "{",
    "[]",
    "null",
    '"x"',
    "5",
    "[" * 20_000,
    '{"a":' * 20_000,
    '{"a": NaN}',
    '{"a": Infinity}',
    b"\xff\xfe{}",
    "{'a':1}",
    '{"Name": "a", "Name": "a"}',
    '{"Name": "a", "N\\u0061me": "b"}',
    '{"Notes": [{"Id": 1, "Id": 2}]}',
)


def path(operation: Any, viewset: Any, site: Any) -> str:
    """Return the operation's path, to a record that exists where it takes an id."""
    return path_of(operation, viewset, record_for(operation, site).pk if operation.takes_id else "")


@every_body_operation
def test_a_write_leaves_one_change(operation: Any, viewset: Any, api: Any) -> None:
    site = api.key.site
    where, body = path(operation, viewset, site), body_for(operation, site)
    change_ids = set(Change.objects.values_list("pk", flat=True))
    answer = api.send(operation.method, where, body)
    assert answer.status_code == 200, answer.content
    assert answer.json() == {"Error": "", "Message": "Success.", "Id": answer.json()["Id"]}
    change = Change.objects.exclude(pk__in=change_ids).get()
    assert (str(change.record_id), change.operation, change.channel) == (answer.json()["Id"], operation.name, "API")
    assert (change.author_id, change.author_name) == (api.key.user.pk, api.key.user.printed_name)
    assert (change.site_id, change.credential) == (site.pk, "Test key")
    assert change.request_id == answer["X-Request-Id"]
    assert change.fields


@every_body_operation
def test_a_write_is_the_same_with_and_without_a_slash_at_its_end(operation: Any, viewset: Any, api: Any) -> None:
    where, body = path(operation, viewset, api.key.site), body_for(operation, api.key.site)
    answer = api.send(operation.method, where[:-1] if where.endswith("/") else f"{where}/", body)
    assert (answer.status_code, answer.json()["Message"]) == (200, "Success."), answer.content


bodyless_operations = [entry for entry in ENDPOINT_OPERATIONS if entry[0].request is None]


@pytest.mark.parametrize(("operation", "viewset"), bodyless_operations, ids=ids_of(bodyless_operations))
def test_fields_in_the_body_of_a_request_that_takes_none_are_refused(operation: Any, viewset: Any, api: Any) -> None:
    where, before = path(operation, viewset, api.key.site), Change.objects.count()
    answer = api.send(operation.method, where, {"limit": 1, "search": "x"})
    assert is_error(answer, 400, "ValidationFailed")
    assert {(fault["Field"], fault["Code"]) for fault in answer.json()["Fields"]} == {
        ("limit", "UnknownField"),
        ("search", "UnknownField"),
    }
    assert is_error(
        api.send(operation.method, where, "limit=1", "application/x-www-form-urlencoded"), 400, "MalformedJson"
    )
    assert Change.objects.count() == before
    assert api.send(operation.method, where, {}).status_code != 400


@every_update_operation
def test_a_repeated_update_leaves_no_second_change(operation: Any, viewset: Any, api: Any) -> None:
    where, body = path(operation, viewset, api.key.site), body_for(operation, api.key.site)
    for name, value in body.items():
        if isinstance(value, list) and value and set(value[0]) != {"Id"}:
            body[name] = []
    if operation.name == "UpdateDocument":
        pytest.skip("Every file that arrives is a new version.")
    assert api.send(operation.method, where, body).status_code == 200
    before = Change.objects.count()
    assert api.send(operation.method, where, body).status_code == 200
    assert Change.objects.count() == before


@every_body_operation
def test_what_is_no_json_object_is_refused(operation: Any, viewset: Any, api: Any) -> None:
    where = path(operation, viewset, api.key.site)
    for body in NO_OBJECTS if operation.entry_response is None else set(NO_OBJECTS) - {"[]"}:
        assert is_error(api.send(operation.method, where, body), 400, "MalformedJson"), body[:20]


@every_update_operation
def test_a_number_that_is_out_of_range_is_refused_where_it_is_ignored_too(
    operation: Any, viewset: Any, api: Any
) -> None:
    where, body = path(operation, viewset, api.key.site), body_for(operation, api.key.site)
    ignored = [name for name, field in operation.request.wire_fields().items() if field.read_only]
    for name, value in product(ignored, ("1e400", '[{"Score": [-1e400]}]', "9" * 400)):
        text = json.dumps({**body, name: 0}).replace(f'"{name}": 0', f'"{name}": {value}')
        answer = api.send(operation.method, where, text)
        assert is_error(answer, 400, "ValidationFailed"), (name, value)
        assert [(fault["Field"], fault["Code"]) for fault in answer.json()["Fields"]] == [(name, "InvalidValue")]
    assert api.send(operation.method, where, {**body, **dict.fromkeys(ignored, 1e300)}).status_code == 200


@every_body_operation
def test_another_media_type_is_refused_and_none_is_json(operation: Any, viewset: Any, api: Any) -> None:
    where, body = path(operation, viewset, api.key.site), body_for(operation, api.key.site)
    for media_type in (
        "text/plain",
        "text/json",
        "application/xml",
        "application/json; charset=utf-16",
        "multipart/form-data",
    ):
        assert is_error(api.send(operation.method, where, body, media_type), 415, "UnsupportedMediaType")
    answer = api.send(operation.method, where, body, **{"Content-Encoding": "gzip"})
    assert is_error(answer, 415, "UnsupportedMediaType")
    assert answer["Accept-Encoding"] == "identity"
    assert api.send(operation.method, where, body, "", **{"Content-Encoding": "identity"}).status_code == 200


@every_body_operation
def test_a_misspelt_field_is_refused_with_the_nearest_name(operation: Any, viewset: Any, api: Any) -> None:
    body = body_for(operation, api.key.site)
    name = next(name for name in body if len(name) > 3)
    body[name[0] + name[2] + name[1] + name[3:]] = body.pop(name)
    shape = api.send(operation.method, path(operation, viewset, api.key.site), body).json()
    assert name in next(fault["Message"] for fault in shape["Fields"] if fault["Code"] == "UnknownField")


@every_body_operation
def test_every_required_field_is_demanded(operation: Any, viewset: Any, api: Any) -> None:
    where = path(operation, viewset, api.key.site)
    for name in operation.request.option("required"):
        for value in (None, ...) if name in operation.request.option("may_be_blank") else (None, "", " ", ...):
            body = body_for(operation, api.key.site)
            if value is ...:
                body.pop(name)
            else:
                body[name] = value
            before = Change.objects.count()
            answer = api.send(operation.method, where, body)
            assert is_error(answer, 400, "ValidationFailed"), (name, value)
            assert name in [fault["Field"] for fault in answer.json()["Fields"]]
            assert Change.objects.count() == before


def refused_fields(answer: Any, names: list[str]) -> set[str]:
    """Return which of the fields an answer refuses: all of them where the body cannot be read at all."""
    assert answer.status_code in (200, 400), answer.content
    if answer.status_code == 200:
        return set()
    if answer.json()["Error"] == "MalformedJson":
        return set(names)
    return {re.split(r"[.\[]", fault["Field"])[0] for fault in answer.json()["Fields"]}


@every_body_operation
def test_no_value_of_any_field_breaks_the_operation(operation: Any, viewset: Any, api: Any, settings: Any) -> None:
    """A value is sent in all fields at once, then alone in each field that may take it, and in some of the others."""
    settings.RATE_LIMIT = 100_000
    where, body = path(operation, viewset, api.key.site), body_for(operation, api.key.site)
    names = list(operation.request.wire_fields())
    ignored = {name for name, field in operation.request.wire_fields().items() if field.read_only}
    for number, value in enumerate(WRONG):
        answer = api.send(operation.method, where, json.dumps({**body, **dict.fromkeys(names, value)}))
        enough = ignored | refused_fields(answer, names)
        for name in [one for index, one in enumerate(names) if one not in enough or index % len(WRONG) == number]:
            answer = api.send(operation.method, where, json.dumps({**body, name: value}))
            if faulty := refused_fields(answer, names):
                assert name in faulty, (name, value, faulty)


@every_body_operation
def test_another_sites_record_is_nowhere_told_from_one_that_does_not_exist(
    operation: Any, viewset: Any, api: Any, other_site: Site
) -> None:
    """Neither beside other faults, nor with a wrong Id in the path, nor under a stale If-Match."""
    body, record_path = body_for(operation, api.key.site), path(operation, viewset, api.key.site)
    tries: list[tuple[str, dict[str, Any], dict[str, str]]] = [(record_path, {}, {}), (record_path, {"Nothing": 1}, {})]
    if operation.takes_id:
        tries += [(path_of(operation, viewset, uuid.uuid4()), {}, {}), (record_path, {}, {"If-Match": '"0"'})]
    for name, field in operation.request.wire_fields().items():
        pointing = isinstance(field, ReferenceField | IdList) and not field.read_only
        if not pointing or issubclass(field.model, SystemEntry):
            continue
        foreign_key = str(entry(field.model, other_site).pk)
        for where, more, headers in tries:
            faults = []
            for key in (foreign_key, str(uuid.uuid4())):
                value = [{"Id": key}] if isinstance(field, IdList) else key
                answer = api.send(operation.method, where, {**body, **more, name: value}, **headers)
                assert is_error(answer, 400, "ValidationFailed"), (name, where)
                faults.append(answer.json()["Fields"])
            assert faults[0] == faults[1], name
            assert any(fault["Field"].startswith(name) for fault in faults[0])


@every_body_operation
def test_arrays_objects_and_lists_of_faults_have_an_end(operation: Any, viewset: Any, api: Any) -> None:
    where, body = path(operation, viewset, api.key.site), body_for(operation, api.key.site)
    for name, field in operation.request.wire_fields().items():
        if field.read_only or not isinstance(field, ChildRows | IdList | TextListField):
            continue
        most = MOST_IDS if isinstance(field, IdList) else MOST_ROWS
        answer = api.send(operation.method, where, {**body, name: [1] * (most + 1)})
        assert [(fault["Field"], fault["Code"]) for fault in answer.json()["Fields"]] == [(name, "ValueTooLong")]
        answer = api.send(operation.method, where, {**body, name: [1] * most})
        assert 1 <= len(answer.json()["Fields"]) <= MOST_FAULTS, name
    answer = api.send(operation.method, where, {**body, **{f"x{number}": 1 for number in range(MOST_NAMES)}})
    assert is_error(answer, 400, "ValidationFailed")
    assert len(answer.json()["Fields"]) == 1


@every_add_operation
def test_a_repeat_under_one_idempotency_key_writes_once(operation: Any, viewset: Any, api: Any) -> None:
    where, body = path_of(operation, viewset), body_for(operation, api.key.site)
    before = model_of(operation)._default_manager.count()
    first = api.send(operation.method, where, body, **{"Idempotency-Key": "k-1"})
    again = api.send(operation.method, where, body, **{"Idempotency-Key": "k-1"})
    assert first.status_code == again.status_code == 200
    assert first.content == again.content
    assert first["ETag"] == again["ETag"]
    assert model_of(operation)._default_manager.count() == before + 1
    other = api.send(operation.method, where, {**body, "Nothing": 1}, **{"Idempotency-Key": "k-1"})
    assert is_error(other, 409, "IdempotencyMismatch")
    for key in ("", "k" * 256, "k\u0085"):
        assert is_error(api.send(operation.method, where, body, **{"Idempotency-Key": key}), 400, "InvalidParameter")
    assert model_of(operation)._default_manager.count() == before + 1
    assert (
        api.send(
            operation.method, where, body_for(operation, api.key.site), **{"Idempotency-Key": "k" * 255}
        ).status_code
        == 200
    )


@every_add_operation
def test_a_refused_add_is_not_kept_under_its_key(operation: Any, viewset: Any, api: Any) -> None:
    where, body = path_of(operation, viewset), body_for(operation, api.key.site)
    assert api.send(operation.method, where, {"Nothing": 1}, **{"Idempotency-Key": "k-2"}).status_code == 400
    assert api.send(operation.method, where, body, **{"Idempotency-Key": "k-2"}).status_code == 200


@every_update_operation
def test_a_stale_if_match_changes_nothing(operation: Any, viewset: Any, api: Any) -> None:
    record = record_for(operation, api.key.site)
    where, body = path_of(operation, viewset, record.pk), body_for(operation, api.key.site)
    before = Change.objects.count()
    for stale in ('"99"', '"x"', "nonsense", 'W/"99"'):
        assert is_error(api.send(operation.method, where, body, **{"If-Match": stale}), 412, "PreconditionFailed")
    assert Change.objects.count() == before
    answer = api.send(operation.method, where, body, **{"If-Match": f'"98", W/"{record.revision}"'})
    assert answer.status_code == 200, answer.content
    assert is_error(api.send(operation.method, where, body, **{"If-Match": '"0"'}), 412, "PreconditionFailed")
    assert api.send(operation.method, where, body, **{"If-Match": answer["ETag"]}).status_code == 200
    assert api.send(operation.method, where, body, **{"If-Match": "*"}).status_code == 200
