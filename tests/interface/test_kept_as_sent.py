"""What is accepted is read back as it was sent, and what is not is named: for every kind of field of every operation.

One request carries a value in all fields of a kind, so that every fault of a body is also seen to be named at once.
"""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from records.history.models import Change
from records.operations import fields as wire
from records.operations.serializers import ChildRows, IdList
from tests.interface.subjects import ENDPOINT_OPERATIONS, body_for, ids_of, path_of, record_for
from tests.interface.test_bodies import body_operations, update_operations

every_body_operation = pytest.mark.parametrize(("operation", "viewset"), body_operations, ids=ids_of(body_operations))

NO_ID = "a3c1b2d4-0000-4000-8000-000000000000"
VALID_VALUES: dict[type, dict[str, Any]] = {
    wire.TextField: {
        '" e\\u0301\\ta\\r\\nb\\rc %_\\\\\'\\" <b>&amp; \\ud83c\\udf5e \\ufb01 "': (
            " é\ta\nb\nc %_\\'\" <b>&amp; 🍞 ﬁ "
        ),
        '"null"': "null",
    },
    wire.DateTimeField: {
        '"2020-02-29"': "2020-02-29T00:00:00.000Z",
        '"2020-02-29T23:59:59.9999999Z"': "2020-02-29T23:59:59.999Z",
        '"2020-06-01t12:00:00.1+05:45"': "2020-06-01T06:15:00.100Z",
        '"0001-01-01 00:00:00-12:00"': "0001-01-01T12:00:00.000Z",
    },
    wire.NumberField: {"99999999999.9999": 99999999999.9999, "1E2": 100, "-0.0": 0, "0.0001": 0.0001},
    wire.IntegerField: {"5.0": 5, "2147483647": 2147483647, "1e1": 10},
}
"""Values as they are sent in JSON, and how they are read back, by the kind of field."""

NO_VALUES = ("5", "true", "{}", '"x"')
NO_ROWS = ("[5]", "[[]]", "[null]", '[{"Nope": 1}]', f'[{{"Id": "{NO_ID}"}}]', '[{"Id": 5}]')
INVALID_VALUES: dict[type, Iterable[str]] = {
    wire.TextField: (*NO_VALUES[:3], '"a\\u0000"', '"\\ud800"', '["a"]', '"e' + "\\u0301" * 101 + '"'),
    wire.DateTimeField: (
        *NO_VALUES,
        '"2020-02-30"',
        '"2020-1-1"',
        '"2020-W01-1"',
        '"2020-01-01T00:00:00"',
        '"2020-01-01T00:00:00+24:00"',
        '"2020-01-01T24:00:00Z"',
        '"2020-01-01T23:59:60Z"',
        '"2020-01-01T00:00:00.12345678Z"',
        '"0001-01-01T00:00:00+00:01"',
        '"9999-12-31T23:59:59-00:01"',
        '"0000-01-01"',
        '"2020-01-01\\n"',
        '"\\uff12020-01-01"',
    ),
    wire.NumberField: (*NO_VALUES[1:], '"5"', "-1", "100000000000", "0.00001", "1e30", "1e-9", "12345678901.23456"),
    wire.IntegerField: (*NO_VALUES[1:], '"5"', "-1", "2147483648", "1.5", "1e30", "9223372036854775808"),
    wire.ReferenceField: (*NO_VALUES, f'"{NO_ID}"', f'"{{{NO_ID}}}"', f'"{NO_ID.replace("-", "")}"', f'"{NO_ID} "'),
    wire.ChoiceTextField: NO_VALUES,
    wire.EmailAddressField: (*NO_VALUES, '"a b@c.de"', '"a@b"', '"a@b.co\\n"', '"a@b.co,c@d.co"'),
    ChildRows: (*NO_VALUES, *NO_ROWS),
    IdList: (*NO_VALUES, *NO_ROWS, "[{}]", '[{"Id": null}]', f'[{{"id": "{NO_ID}"}}]'),
}
DECIMALS_IN_TEXT = frozenset(("Lat", "Lng"))
WITH_A_DEFAULT = frozenset(("Id", "Date", "Version", "isArchived"))
NEVER_EMPTY = ("Name", "DueDate", "OwnerId", "RecordStatus")
"""Fields that an update may omit and not empty."""


def fields_of(operation: Any, kind: type) -> list[str]:
    """Return the names of the operation's writable fields of a kind."""
    fields = operation.request.wire_fields().items()
    return [name for name, one in fields if not one.read_only and type(one) is kind and name not in DECIMALS_IN_TEXT]


def text_of(body: dict[str, Any], names: Iterable[str], value: str) -> str:
    """Return the body as JSON, with a value in these fields."""
    return json.dumps({**body, **dict.fromkeys(names, "@@")}).replace('"@@"', value)


def read_back(operation: Any, viewset: Any, api: Any, answer: Any) -> dict[str, Any]:
    """Return the record of an answer, by the operation of the endpoint that reads one."""
    assert answer.status_code == 200, answer.content
    [reader] = [
        one
        for one, of in ENDPOINT_OPERATIONS
        if of is viewset
        and one.method == "GET"
        and not one.many
        and one.response.Meta.model is operation.request.Meta.model
    ]
    answer_read = api.get(path_of(reader, viewset, answer.json()["Id"]))
    assert answer_read.status_code == 200, answer_read.content
    return dict(answer_read.json())


@every_body_operation
def test_what_is_accepted_is_read_back_as_it_was_sent(operation: Any, viewset: Any, api: Any) -> None:
    where = path_of(operation, viewset, record_for(operation, api.key.site).pk if operation.takes_id else "")
    body = body_for(operation, api.key.site)
    for kind, values in VALID_VALUES.items():
        names = fields_of(operation, kind)
        for value, read in values.items() if names else ():
            record = read_back(operation, viewset, api, api.send(operation.method, where, text_of(body, names, value)))
            assert {name: record[name] for name in names if name in record} == {
                name: read for name in names if name in record
            }


@every_body_operation
def test_what_may_be_empty_is_emptied_by_null_and_by_empty_text(operation: Any, viewset: Any, api: Any) -> None:
    where = path_of(operation, viewset, record_for(operation, api.key.site).pk if operation.takes_id else "")
    body = body_for(operation, api.key.site)
    fields = {name: one for name, one in operation.request.wire_fields().items() if not one.read_only}
    names = [name for name in fields if name not in (*operation.request.option("required"), *NEVER_EMPTY)]
    with_text = (wire.TextField, wire.DateTimeField, wire.NumberField, wire.IntegerField, wire.ReferenceField)
    for value, some in (("null", names), ('""', [name for name in names if isinstance(fields[name], with_text)])):
        record = read_back(operation, viewset, api, api.send(operation.method, where, text_of(body, some, value)))
        assert (
            not {name: record[name] for name in some if record.get(name) not in (None, "", [])}.keys() - WITH_A_DEFAULT
        )


@pytest.mark.parametrize(("operation", "viewset"), update_operations, ids=ids_of(update_operations))
def test_what_is_never_empty_is_named_when_an_update_empties_it(operation: Any, viewset: Any, api: Any) -> None:
    where = path_of(operation, viewset, record_for(operation, api.key.site).pk)
    fields = operation.request.wire_fields()
    names = operation.request.option("required") | (set(NEVER_EMPTY[:3]) & fields.keys())
    for name in names - {"LastName"}:  # A family name that is stored as empty may stay so.
        for value in (None, ""):
            answer = api.send(operation.method, where, {**body_for(operation, api.key.site), name: value})
            assert answer.status_code == 400, (name, answer.content)
            assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [(name, "RequiredField")]


@every_body_operation
def test_every_field_with_a_wrong_value_is_named_and_a_check_says_the_same(
    operation: Any, viewset: Any, api: Any
) -> None:
    where = path_of(operation, viewset, record_for(operation, api.key.site).pk if operation.takes_id else "")
    checking = f"{where}{'&' if '?' in where else '?'}validateOnly=true"
    body, changes = body_for(operation, api.key.site), Change.objects.count
    before = changes()
    for kind, values in INVALID_VALUES.items():
        names = fields_of(operation, kind)
        for value in values if names else ():
            answers = [api.send(operation.method, path, text_of(body, names, value)) for path in (where, checking)]
            assert [answer.status_code for answer in answers] == [400, 400], (kind, value)
            plain, check = ({**answer.json(), "RequestId": ""} for answer in answers)
            assert plain == check
            if plain["Error"] != "MalformedJson":
                assert {fault["Field"].split("[")[0] for fault in plain["Fields"]} == set(names), (kind, value)
    assert changes() == before
