"""Queries made up from the parameters of every list, against what the rows of the whole list say themselves.

Each value is made up together with its meaning, so that the test knows which rows must come back, or that the query
must be refused. Nothing that was asked for is ignored, and no wrong value widens a list.
"""

import datetime
import re
import unicodedata
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import models
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from records.customers.models import Customer
from records.history.models import Change
from records.operations import lists
from records.operations.names import snake
from records.operations.operation import READER
from records.reference.models import Country
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.interface.subjects import ENDPOINT_OPERATIONS, ids_of, path_of, record_for
from tests.interface.test_doors import is_error
from tests.make import audits
from tests.make.items import make_item

Row = dict[str, Any]
Means = Callable[[Row], bool]


@dataclass(frozen=True)
class Value:
    """A value of a query parameter, and which rows it means; None where it must be refused."""

    text: str
    means: Means | None


QUIET = hypothesis_settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))
list_operations = [entry for entry in ENDPOINT_OPERATIONS if entry[0].many]
guarded_operations = [
    entry
    for entry in list_operations
    if entry[0].name in ("GetComplaintList", "GetEmployeeList", "GetDocumentList", "GetActionList", "GetAttachmentList")
]
"""Lists of which a Reader does not see every record or field."""
every_list_operation = pytest.mark.parametrize(("operation", "viewset"), list_operations, ids=ids_of(list_operations))

TEXTS = ("Acme", "Inc.", "Acme, Inc.", " Acme ", "100 % _\\'\"", "Öl-Mühle", "null", "a\nb", "0", "&amp;+%2B")
NO_IDS = ("", "abc", "null", "0", "{%s}", "%s0", "urn:uuid:%s", "9" * 400, "٣", "%s;")
NO_MOMENTS = ("", "today", "2020-02-30", "2020-01-01T00:00:00", "20200101", "0000-01-01", "1577836800", "2020-01-01,")
INTEGERS = {"startIndex": (0, 2_147_483_647), "limit": (1, 1000)}
ENDS = {"dateFrom": "from", "dateTo": "to", "dueBefore": "before"}
FIELD_NAMES = {"employeeId": "Employee", "auditorId": "Auditor", **dict.fromkeys(ENDS, "Date"), "dueBefore": "DueDate"}
"""The field that a parameter is about, where it is not called the same."""
COUNTRIES = ("PostalAddressCountryId", "PhysicalAddressCountryId")
UNSEEN = ("GetFolderList.entity",)
"""Filters by what a row does not show."""


def fold(text: str) -> str:
    """Return what is compared of a text: without regard to case."""
    return unicodedata.normalize("NFC", text).casefold()


def ids_in(value: Any) -> set[str]:
    """Return the ids of a field, which is one or an array."""
    return {entry["Id"] for entry in value} if isinstance(value, list) else {value}


def invalid_values(*texts: str) -> st.SearchStrategy[Value]:
    """Return values that must be refused."""
    return st.sampled_from(texts).map(lambda text: Value(text, None))


def texts(parameter: Any, wire: str, rows: Sequence[Row], *, is_trimmed: bool) -> st.SearchStrategy[Value]:
    """Return values of a text filter: texts that there are, in any case, and others.

    `trimmed` says that blanks around the stored text do not count either, as in names and codes.
    """
    values = sorted({row[wire] for row in rows})

    def own(row: Row) -> str:
        return fold(row[wire].strip() if is_trimmed else row[wire])

    def means(text: str) -> Means:
        texts_meant = {fold(text), fold(text.strip())}
        if parameter.separable and not any(own(row) in texts_meant for row in rows):
            texts_meant |= {fold(piece.strip()) for piece in text.split(",") if piece.strip()}
        return lambda operation: own(operation) in texts_meant

    existing = st.sampled_from([*values, *TEXTS, "", " "]).flatmap(
        lambda text: st.sampled_from([text, text.upper(), text.lower(), text[:-1], f"{text},{text}", f" {text}"])
    )
    random_texts = st.text(st.characters(max_codepoint=0x17F, exclude_categories=["Cc", "Cs"]), max_size=20)
    wrong = st.sampled_from(["\x00", "a\x1b", "\x08b"])
    return st.one_of(existing, existing, random_texts).map(lambda text: Value(text, means(text))) | wrong.map(
        lambda text: Value(text, None)
    )


def is_trimmed(operation: Any, parameter: Any) -> bool:
    """Return whether a filter reads a folded column, which is stored without blanks around it."""
    columns = {field.name: field for field in operation.response.Meta.model._meta.get_fields()}
    return hasattr(columns.get(parameter.lookups[0]), "is_folded")


def ids(wires: Sequence[str], rows: Sequence[Row]) -> st.SearchStrategy[Value]:
    """Return values of a filter by id: those that there are, another, several, and what is not an id."""
    ids_by_row = {row["Id"]: {key for wire in wires for key in ids_in(row[wire])} for row in rows}
    all_ids = sorted({key for keys in ids_by_row.values() for key in keys if key}) or [str(uuid.UUID(int=7))]

    def means(keys: Iterable[str]) -> Means:
        ids_meant = {key.lower() for key in keys}
        return lambda row: bool(ids_meant & ids_by_row[row["Id"]])

    one = st.sampled_from([*all_ids, str(uuid.UUID(int=9))]).flatmap(lambda key: st.sampled_from([key, key.upper()]))
    some = st.lists(one, min_size=1, max_size=3).map(lambda keys: Value(", ".join(keys), means(keys)))
    wrong = st.sampled_from(NO_IDS).map(lambda text: Value(text.replace("%s", all_ids[0]), None))
    return st.one_of(some, some, wrong, wrong.map(lambda no: Value(f"{all_ids[0]},{no.text}", None)))


def choices(parameter: Any, wire: str) -> st.SearchStrategy[Value]:
    """Return values of a filter by a word: those that are allowed, in any case, and others."""
    one = st.sampled_from(list(parameter.choices)).flatmap(lambda word: st.sampled_from([word, word.upper()]))

    def means(words: Iterable[str]) -> Means:
        words_meant = {word.casefold() for word in words}
        return lambda row: row[wire].casefold() in words_meant

    some = st.lists(one, min_size=1, max_size=2).map(lambda words: Value(",".join(words), means(words)))
    return some | st.sampled_from(["", "any", "Nothing", parameter.choices[0] + "x"]).map(lambda no: Value(no, None))


def moments(wire: str, rows: Sequence[Row], holds: str) -> st.SearchStrategy[Value]:
    """Return values of a filter by time: around those that there are, with offsets and whole days."""
    existing = [datetime.datetime.fromisoformat(row[wire]) for row in rows if row.get(wire)]
    base = existing or [datetime.datetime(2024, 5, 31, 10, tzinfo=datetime.UTC)]

    def at(moment: datetime.datetime, *, day: bool = False) -> Means:
        def means(row: Row) -> bool:
            if not row[wire]:
                return False
            own = datetime.datetime.fromisoformat(row[wire])
            last = moment + datetime.timedelta(days=1) if day else moment
            return {
                "from": own >= moment,
                "to": own < last if day else own <= moment,
                "before": own < moment,
            }[holds]

        return means

    def forms_of(moment: datetime.datetime) -> st.SearchStrategy[Value]:
        day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        east = moment.astimezone(datetime.timezone(datetime.timedelta(hours=5, minutes=45)))
        later, earlier = (moment + datetime.timedelta(milliseconds=step) for step in (1, -1))
        return st.sampled_from(
            [
                Value(day.strftime("%Y-%m-%d"), at(day, day=True)),
                Value(east.isoformat(timespec="milliseconds"), at(moment)),
                *(
                    Value(one.isoformat(timespec="milliseconds").replace("+00:00", "Z"), at(one))
                    for one in (moment, later, earlier)
                ),
            ]
        )

    right = st.sampled_from(base).flatmap(forms_of)
    return st.one_of(right, right, st.sampled_from(NO_MOMENTS).map(lambda no: Value(no, None)))


def filters(operation: Any, rows: Sequence[Row]) -> dict[str, st.SearchStrategy[Value]]:
    """Return the values of each filter of a list."""
    wires = {wire.casefold(): wire for wire in operation.response.plan().names}
    strategies: dict[str, st.SearchStrategy[Value]] = {}
    for parameter in operation.parameters:
        wire = wires.get(FIELD_NAMES.get(parameter.name, parameter.name).casefold(), "")
        if not parameter.filters or f"{operation.name}.{parameter.name}" in UNSEEN:
            continue
        if parameter.name == "countryId":
            strategies[parameter.name] = ids(COUNTRIES, rows)
            continue
        assert wire, f"{operation.name}.{parameter.name} is about a field that the test does not know."
        match parameter.kind:
            case "text":
                strategies[parameter.name] = texts(parameter, wire, rows, is_trimmed=is_trimmed(operation, parameter))
            case "id":
                strategies[parameter.name] = ids([wire], rows)
            case "choice":
                strategies[parameter.name] = choices(parameter, wire)
            case _:
                strategies[parameter.name] = moments(wire, rows, ENDS[parameter.name])
    if stamp := wires.get("lastmodified"):
        strategies["modifiedSince"] = moments(stamp, rows, "from")
    if operation.lists_folders:
        strategies["entityFolderId"] = (
            ids([wires["entityfolderid"]], rows) if "entityfolderid" in wires else st.nothing()
        )
    return strategies


def pages(operation: Any) -> dict[str, st.SearchStrategy[Value]]:
    """Return the values of what chooses and orders a page of a list."""
    strategies: dict[str, st.SearchStrategy[Value]] = {}
    for name, (low, high) in INTEGERS.items():
        right = st.sampled_from([low, low + 1, low + 2, high]) | st.integers(low, high)
        wrong = st.sampled_from([str(low - 1), str(high + 1), "", "1.0", "1e1", "0x1", "٣", "1,2", "NaN", "9" * 50])
        strategies[name] = right.map(lambda number: Value(str(number), lambda _: True)) | wrong.map(
            lambda no: Value(no, None)
        )
    columns = [name for name in operation.response.plan().columns if name not in operation.response.option("private")]
    right_names = st.sampled_from(columns).flatmap(lambda name: st.sampled_from([name, name.upper(), f" {name}"]))
    strategies["sort"] = right_names.map(lambda name: Value(name, lambda _: True)) | st.sampled_from(
        ["", "Nothing", "-Id", f"{columns[0]},{columns[0]}", "pk", "site__name", "revision"]
    ).map(lambda no: Value(no, None))
    strategies["order"] = st.sampled_from(["asc", "DESC", " desc"]).map(lambda one: Value(one, lambda _: True)) | (
        st.sampled_from(["", "up", "asc,desc", "1"]).map(lambda no: Value(no, None))
    )
    return strategies


def archived_filter(keys: set[str]) -> st.SearchStrategy[Value]:
    """Return values of `isArchived`; `keys` are the ids of the archived rows."""
    both = st.sampled_from(["any", "ANY", "true,false", "0, 1"]).map(lambda text: Value(text, lambda _: True))
    archived_rows = st.sampled_from(["true", "True", "1"]).map(lambda text: Value(text, lambda row: row["Id"] in keys))
    other_rows = st.sampled_from(["false", "FALSE", "0"]).map(
        lambda text: Value(text, lambda row: row["Id"] not in keys)
    )
    return st.one_of(
        both,
        archived_rows,
        other_rows,
        st.sampled_from(["", "yes", "all", "2", "true,"]).map(lambda no: Value(no, None)),
    )


def make_varied_rows(operation: Any, viewset: Any, site: Any) -> str:
    """Make rows that differ in what the list filters by, one of them archived; return the path of the list."""
    if operation.takes_id:
        program = audits.make_program(site)
        for day in (1, 2, 2):
            audits.make_audit(program, date=datetime.datetime(2024, 5, day, 10, tzinfo=datetime.UTC))
        return path_of(operation, viewset, program.pk)
    model = operation.response.Meta.model
    if not hasattr(model, "ENTITY"):
        return path_of(operation, viewset)
    for number in range(6):
        record = record_for(operation, site)
        for parameter in operation.parameters:
            if parameter.kind == "text" and parameter.filters:
                column = model._meta.get_field(snake(parameter.name))
                text = f"Mira.{number}@example.org" if isinstance(column, models.EmailField) else TEXTS[number]
                setattr(record, column.name, text)
        if model is Customer:
            record.postal_address_country, record.physical_address_country = Country.objects.all()[number : number + 2]
        if operation.lists_folders and number % 2:
            record.entity_folder = make.make_folder(site, model.ENTITY)
        record.save()
    make.archive(record)
    return path_of(operation, viewset)


def value_of(query: list[tuple[str, Value]], name: str, usual: str) -> str:
    """Return the value of a parameter that is given once, or the usual one."""
    return next((one.text for parameter, one in query if parameter == name), usual)


@every_list_operation
def test_a_list_answers_what_its_query_means_or_refuses_it(
    operation: Any, viewset: Any, api: Any, settings: Any
) -> None:
    settings.RATE_LIMIT = 1_000_000
    ask_at_random(operation, make_varied_rows(operation, viewset, api.key.site), api)


@pytest.mark.parametrize(("operation", "viewset"), guarded_operations, ids=ids_of(guarded_operations))
def test_a_reader_is_answered_by_what_a_reader_sees(operation: Any, viewset: Any, site: Any, settings: Any) -> None:
    settings.RATE_LIMIT = 1_000_000
    ask_at_random(operation, make_varied_rows(operation, viewset, site), Api(make.make_key(site, READER)))


def ask_at_random(operation: Any, where: str, api: Any) -> None:
    """Send queries that are made up from the parameters of a list, and compare each answer with the whole list."""
    everything = api.get(where, {"isArchived": "any", "limit": 1000}).json()
    archived_ids = {one["Id"] for one in api.get(where, {"isArchived": "true", "limit": 1000}).json()}
    strategies = {**filters(operation, everything), **pages(operation), "isArchived": archived_filter(archived_ids)}
    strategies = {name: values for name, values in strategies.items() if not values.is_empty}
    pairs = st.sampled_from(sorted(strategies)).flatmap(lambda name: strategies[name].map(lambda value: (name, value)))
    before = Change.objects.count()

    # The lists of entries are all read in the same way.
    @hypothesis_settings(QUIET, max_examples=25 if hasattr(operation.response.Meta.model, "ENTITY") else 8)
    @given(query=st.lists(pairs, max_size=4), spelling=st.sampled_from([str, str.upper, str.lower]))
    def ask(query: list[tuple[str, Value]], spelling: Callable[[str], str]) -> None:
        answer = api.get(f"{where}?{urlencode([(spelling(name), one.text) for name, one in query])}")
        texts_of = {name: {one.text for parameter, one in query if parameter == name} for name, _ in query}
        repeated = [name for name, texts in texts_of.items() if len(texts) > 1 and name in lists.SINGLE_VALUED]
        if repeated or any(one.means is None for _, one in query):
            assert is_error(answer, 400, "InvalidParameter"), query
            assert re.match(r"\w+: ", answer.json()["Message"])
            return
        assert answer.status_code == 200, (query, answer.content)
        expected = [one for one in everything if all(any(means(one) for means in group) for group in meanings(query))]
        if "isArchived" not in texts_of:
            expected = [one for one in expected if one["Id"] not in archived_ids]
        assert answer["X-Total-Count"] == str(len(expected)), (query, answer.content)
        start, limit = int(value_of(query, "startIndex", "0")), int(value_of(query, "limit", "100"))
        keys = {one["Id"] for one in expected}
        got = answer.json()
        assert len(got) == max(0, min(limit, len(expected) - start)), query
        assert {one["Id"] for one in got} <= keys, query
        assert all(one == next(row for row in everything if row["Id"] == one["Id"]) for one in got)

    ask()
    assert Change.objects.count() == before


def test_the_feed_answers_what_its_query_means_or_refuses_it(site: Site, settings: Any) -> None:
    settings.RATE_LIMIT = 1_000_000
    for record in (make_item(site), make.make_employee(site), make_item(site)):
        make.archive(record)
    api, path = Api(make.make_key(site)), "/change/GetChangeList"
    full_answer = api.get(path)
    everything = full_answer.json()
    assert [row["Entity"] for row in everything] == ["Item", "Employee", "Item"] * 2
    positions = st.integers(0, everything[-1]["Number"] + 2).map(
        lambda number: Value(str(number), lambda row: bool(row["Number"] > number))
    )
    words = st.lists(st.sampled_from(["Item", "employee", "COMPLAINT"]), min_size=1, max_size=2)
    entities = words.map(
        lambda names: Value(", ".join(names), lambda row: row["Entity"].casefold() in {*map(str.casefold, names)})
    )
    limits = st.integers(1, 1000).map(lambda number: Value(str(number), lambda _: True))
    strategies = {
        "after": positions | invalid_values("", "-1", "1.0", "x", "1,2", "2147483648"),
        "limit": st.sampled_from(["1", "2"]).map(lambda text: Value(text, lambda _: True))
        | limits
        | invalid_values("", "0", "1001", "1e2", "x"),
        "entity": entities | invalid_values("", ",", "Items", "Item,", "Role", "SubscriptionKey", "*"),
    }
    pairs = st.sampled_from(sorted(strategies)).flatmap(lambda name: strategies[name].map(lambda value: (name, value)))

    @QUIET
    @given(query=st.lists(pairs, max_size=3))
    def ask(query: list[tuple[str, Value]]) -> None:
        answer = api.get(f"{path}?{urlencode([(name, one.text) for name, one in query])}")
        texts_of = {name: {one.text for parameter, one in query if parameter == name} for name, _ in query}
        repeated = [name for name, texts in texts_of.items() if len(texts) > 1 and name != "entity"]
        if repeated or any(one.means is None for _, one in query):
            assert is_error(answer, 400, "InvalidParameter"), query
            return
        assert answer.status_code == 200, (query, answer.content)
        expected = [one for one in everything if all(any(means(one) for means in group) for group in meanings(query))]
        assert answer.json() == expected[: int(value_of(query, "limit", "100"))], query
        assert answer["X-Last-Number"] == full_answer["X-Last-Number"]

    ask()


def meanings(query: list[tuple[str, Value]]) -> list[list[Means]]:
    """Return the meanings of each parameter's values; any of them may hold, of every parameter."""
    names = dict.fromkeys(name for name, _ in query)
    return [[one.means for parameter, one in query if parameter == name and one.means] for name in names]
