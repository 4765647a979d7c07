"""Bodies made up for every operation that writes: right and wrong values, fields left out, names that nobody knows.

Each value is made up together with how it is read back, or that it must be refused. A refusal names every fault and
changes nothing; what is accepted is read back as it was sent, and what was not sent stays as it was.
"""

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from records.history.models import Change
from records.operations import fields as wire
from records.operations.serializers import ChildRows, IdList
from tests.interface.subjects import body_for, entry, ids_of, model_of, path_of, record_for
from tests.interface.test_bodies import body_operations
from tests.interface.test_kept_as_sent import NEVER_EMPTY, WITH_A_DEFAULT, read_back

QUIET = settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
every_body_operation = pytest.mark.parametrize(("operation", "viewset"), body_operations, ids=ids_of(body_operations))

INVALID = object()


@dataclass(frozen=True)
class WireValue:
    """A value as JSON, and as it is read back; REFUSED where it must be refused."""

    text: str
    read: Any


def wrong(*texts: str) -> st.SearchStrategy[WireValue]:
    """Return values that must be refused."""
    return st.sampled_from(texts).map(lambda text: WireValue(text, INVALID))


def right(**values: Any) -> st.SearchStrategy[WireValue]:
    """Return values that are kept, by their JSON."""
    return st.sampled_from(sorted(values.items(), key=str)).map(lambda pair: WireValue(*pair))


NO_ID = '"a3c1b2d4-0000-4000-8000-000000000000"'
NO_ROWS = ("{}", '"x"', "[5]", f'[{{"Id": {NO_ID}}}]')
BLANKS = ("", " ", "\t\n", "\u200b", "\u00ad\u2060", "\u3164 \u2800", "\U00013441", "\ufe0f")
NO_TEXT = ("5", "true", "{}", "[]", '["a"]', '"\\u0000"', '"a\\u001f"', "1e400", '{"Id": "x"}')
MOMENTS = {
    '"1980-05-17"': "1980-05-17T00:00:00.000Z",
    '"1999-12-31T23:59:59.9999Z"': "1999-12-31T23:59:59.999Z",
    '"2000-02-29T00:00:00+14:00"': "2000-02-28T10:00:00.000Z",
    '"2001-01-01t01:02:03.4z"': "2001-01-01T01:02:03.400Z",
}
NO_MOMENTS = (
    "0",
    "false",
    '"1900-02-29"',
    '"2000-01-01T00:00:00"',
    '"9999-12-31T23:59:59-01:00"',
    '"01/02/2000"',
    "[]",
)
NUMBERS = {"0": 0, "2.50": 2.5, "1e3": 1000, "99999999999.9999": 99999999999.9999, "-0": 0}
NO_NUMBERS = ("-1", '"2"', "true", "1e-5", "1e400", "874662070036053953.96", "[1]", "{}")
CONTENT = ('"QQ=="', '"TGFyZGVy"', '"T\\u0047FyZGVy"')
NO_CONTENT = ("null", '""', "123", '"QQ"', '"Q Q="', '"Q-=="', '"====QQ=="', '"QR=="', "[]", '"\\u00e9QQ="')
NO_ADDRESS = ('"a b@c.de"', '"@b.co"', '"a@b@c.de"', '"a@b.co\\n"', "5")
FOLDER = ("EntityFolderId", "entityFolderId")
APART = ("Id", "RecordStatus", "Effective", "RecordId", "FindingId", "Lat", "Lng", "isArchived", *FOLDER)
"""Fields whose values depend on the record's state or on each other; of these only wrong kinds are made up."""


def texts(field: Any, *, empty: bool) -> st.SearchStrategy[WireValue]:
    """Return values of a text field."""
    most = field.max_length or 1000

    def value_of(text: str) -> WireValue:
        read = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
        return WireValue(json.dumps(text), read if len(read) <= most else INVALID)

    some = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30).map(lambda text: value_of(f"x{text}"))
    odd = st.sampled_from(["e\u0301", "a\r\nb\rc", "null", "<b>&amp;", "=1+1", "\ufb01 \U0001f35e", "é" * most])
    blank = st.sampled_from(BLANKS).map(lambda text: WireValue(json.dumps(text), text if empty else INVALID))
    return st.one_of(some, odd.map(value_of), blank, wrong(*NO_TEXT, json.dumps("é" * (most + 1))))


def values_of(field: Any, name: str, valid: Any, *, empty: bool) -> st.SearchStrategy[WireValue]:  # noqa: C901 (a line a kind)
    """Return values of a field: as JSON and as they are read back. `valid` is one that the operation accepts."""
    text = json.dumps(valid)
    match field:
        case _ if name in APART:
            return wrong("{}", '[{"a": []}]', "3.5")
        case _ if name == "FileContent":
            return right(**dict.fromkeys(CONTENT)) | wrong(*NO_CONTENT)
        case ChildRows():
            return rows_of(field) | wrong(*NO_ROWS, "[[]]", "[null]", '[{"Nope": 1}]')
        case IdList():
            values = {
                text: valid,
                text.upper().replace("ID", "Id"): valid,
                f"[{text[1:-1]}, {text[1:-1]}]": valid,
                "[]": [],
            }
            return right(**values) | wrong("{}", "[5]", '[{"Id": 5}]', "[{}]", f'[{{"Id": {NO_ID}}}]', '[{"Id": ""}]')
        case wire.TextListField():
            return right(**{'["Perú", "a\\r\\nb"]': ["Perú", "a\nb"], "[]": []}) | wrong(
                "{}", "[5]", '["\\u0000"]', '"x"'
            )
        case wire.EmailAddressField():
            return right(**{'"mira.o+1@example.org"': "mira.o+1@example.org", '""': ""}) | wrong(*NO_ADDRESS)
        case wire.ChoiceTextField():
            return right(**{text: valid, text.upper(): valid}) | wrong('"Nothing"', "5", "[]", f"[{text}]")
        case _ if name == "FileName":
            values = {'"a.b..c (1) é.pdf"': "a.b..c (1) é.pdf", '"../x"': "../x"}
            return right(**values) | wrong(*NO_TEXT, '""', '"a\\u202egpj.exe"', '"a\\u200b.txt"', json.dumps("a" * 256))
        case wire.TextField():
            return texts(field, empty=empty)
        case wire.DateTimeField():
            return right(**MOMENTS) | wrong(*NO_MOMENTS)
        case wire.NumberField():
            return right(**NUMBERS) | wrong(*NO_NUMBERS)
        case wire.IntegerField():
            return right(**{"7.0": 7, "2147483647": 2147483647}) | wrong(
                "0.5", "2147483648", '"5"', "true", "-1", "1e99"
            )
        case wire.ReferenceField():
            return right(**{text: valid, text.upper(): valid}) | wrong(NO_ID, '"abc"', "5", "[]", f'"{valid} "')
    raise NotImplementedError(name)


def rows_of(field: ChildRows) -> st.SearchStrategy[WireValue]:
    """Return values of a child array; the rows are read back with all their fields, and with an Id."""
    inner = {name: one for name, one in field.serializer_class.wire_fields().items() if name != "Id"}
    plain = {name: one for name, one in inner.items() if not isinstance(one, wire.ReferenceField | wire.DateTimeField)}
    row = st.dictionaries(st.sampled_from(sorted(plain)), st.none(), max_size=3).flatmap(
        lambda names: st.fixed_dictionaries({name: values_of(plain[name], name, "x", empty=True) for name in names})
    )

    def array_of(rows: list[dict[str, WireValue]]) -> WireValue:
        objects = [", ".join(f'"{name}": {one.text}' for name, one in row.items()) for row in rows]
        if any(one.read is INVALID for row in rows for one in row.values()):
            read: Any = INVALID
        else:
            usual = {name: one.empty for name, one in inner.items()}
            read = [{**usual, **{name: one.read for name, one in row.items()}} for row in rows]
        return WireValue(f"[{', '.join(f'{{{text}}}' for text in objects)}]", read)

    return st.lists(row, max_size=2).map(array_of)


def changes_to(operation: Any, body: dict[str, Any], site: Any) -> st.SearchStrategy[dict[str, WireValue | None]]:
    """Return what to send instead of some fields of a body: another value, or None to leave the field out."""
    strategies: dict[str, st.SearchStrategy[WireValue | None]] = {}
    for name, field in operation.request.wire_fields().items():
        if field.read_only:
            continue
        required = name in operation.request.option("required")
        may_be_blank = name in operation.request.option("may_be_blank") and name != "LastName"
        # An attachment may be added without a name of its own; it has the name of its file then.
        never_empty = name in NEVER_EMPTY and (operation.takes_id or name != "Name")
        empty = may_be_blank or not (required or never_empty)
        valid = body.get(name)
        if valid is None and isinstance(field, wire.ReferenceField):
            valid = str(entry(field.model, site).pk) if name not in APART else None
        null = WireValue("null", INVALID if required or never_empty else field.empty)
        ways: list[st.SearchStrategy[Any]] = [values_of(field, name, valid, empty=empty), st.none()]
        strategies[name] = st.one_of(*ways) if name in APART else st.one_of(*ways, st.just(null))
    strange = st.sampled_from(["Nonsense", *(name.swapcase() for name in strategies), "__class__", "id ", ""])
    pairs = st.sampled_from(sorted(strategies)).flatmap(lambda name: st.tuples(st.just(name), strategies[name]))
    unknown = strange.map(lambda name: (name, WireValue("1", INVALID)))
    return st.lists(pairs, max_size=4).flatmap(
        lambda some: st.lists(unknown, max_size=1).map(lambda more: dict([*some, *more]))
    )


def state(operation: Any) -> list[Any]:
    """Return all that a refused write must leave as it was."""
    return [Change.objects.count(), list(model_of(operation)._default_manager.order_by("pk").values())]


def comparable(value: Any) -> Any:
    """Return what is compared of a value that was read: child rows without their Ids."""
    if isinstance(value, list) and value and isinstance(value[0], dict) and value[0].keys() != {"Id"}:
        return [{name: part for name, part in one.items() if name != "Id"} for one in value]
    return value


ACROSS = ("FinishDate", "ExpirationDate", "DateOfBirth", "Lat", "Lng")
"""Fields that the rules across fields name."""
NOT_COMPARED = ("reasonForChange", "FileContent", "Version", "Id", "RecordStatus")


@every_body_operation
def test_a_body_is_kept_as_it_was_sent_or_refused_with_every_fault(
    operation: Any, viewset: Any, api: Any, settings: Any
) -> None:
    settings.RATE_LIMIT = 1_000_000
    site = api.key.site
    where = path_of(operation, viewset, record_for(operation, site).pk if operation.takes_id else "")
    body, fields = (
        body_for(operation, site),
        {name: field for name, field in operation.request.wire_fields().items() if not field.read_only},
    )
    latest: dict[str, dict[str, Any]] = {}
    if operation.takes_id:
        record = read_back(operation, viewset, api, api.send(operation.method, where, body))
        latest[record["Id"]] = record

    @QUIET
    @given(changes=changes_to(operation, body, site))
    def send(changes: dict[str, WireValue | None]) -> None:
        values = {name: WireValue(json.dumps(value), value) for name, value in body.items()} | changes
        text = ", ".join(f"{json.dumps(name)}: {one.text}" for name, one in values.items() if one is not None)
        before = state(operation)
        answer = api.send(operation.method, where, f"{{{text}}}")
        faults = faulty(operation, values)
        if faults or answer.status_code != 200:
            assert answer.status_code == 400, (text, answer.content)
            assert state(operation) == before, text
            named_ = {fault["Field"].split("[")[0] for fault in answer.json()["Fields"]}
            if answer.json()["Error"] != "MalformedJson":
                assert answer.json()["Error"] == "ValidationFailed"
                assert faults <= named_ <= faults | set(ACROSS), (text, answer.content)
            return
        record = read_back(operation, viewset, api, answer)
        assert Change.objects.count() <= before[0] + 1
        before_it = latest.get(record["Id"])
        for name, field in fields.items():
            one = values.get(name)
            if name not in record or name in NOT_COMPARED:
                continue
            if one is None:
                usual = field.empty if before_it is None else before_it[name]
                assert record[name] == usual or (before_it is None and name in WITH_A_DEFAULT), (name, text)
            elif one.read is not None or name not in WITH_A_DEFAULT:
                assert comparable(record[name]) == comparable(one.read), (name, text)
        latest[record["Id"]] = record

    send()


def faulty(operation: Any, values: dict[str, WireValue | None]) -> set[str]:
    """Return the fields that a refusal must name."""
    wrong_ones = {name for name, one in values.items() if one is not None and one.read is INVALID}
    missing: Sequence[str] = [name for name in operation.request.option("required") if values.get(name) is None]
    return wrong_ones | set(missing)
