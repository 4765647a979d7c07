"""What reads do, for every operation that reads: the declared shape, few queries, and pages that fit together."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest
from django.db import connection
from django.db.models.sql.compiler import SQLCompiler
from django.test.utils import CaptureQueriesContext

from records.accounts.models import DefaultRole, RoleMembership, SubscriptionKey, User
from records.audits.models import AuditProgram
from records.history.trail import now
from records.operations.cursors import DIGEST_BYTES
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.interface.conftest import BY_KEY_ALONE, SiteApi
from tests.interface.subjects import ENDPOINT_OPERATIONS, entry, ids_of, path_of, record_for
from tests.interface.test_doors import is_error
from tests.make.items import make_item
from tests.make.oauth import make_token
from tests.shared_fixtures import shared_fixture

one_operations = [
    entry for entry in ENDPOINT_OPERATIONS if entry[0].method == "GET" and entry[0].takes_id and not entry[0].many
]
every_one_operation = pytest.mark.parametrize(("operation", "viewset"), one_operations, ids=ids_of(one_operations))
list_operations = [entry for entry in ENDPOINT_OPERATIONS if entry[0].many and not entry[0].takes_id]
every_list_operation = pytest.mark.parametrize(("operation", "viewset"), list_operations, ids=ids_of(list_operations))
record_lists = [entry for entry in list_operations if hasattr(entry[0].response.Meta.model, "ENTITY")]
every_record_list = pytest.mark.parametrize(("operation", "viewset"), record_lists, ids=ids_of(record_lists))
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
WRONG_QUERIES = (
    "limit=0",
    "limit=1001",
    "limit=x",
    "startIndex=-1",
    "startIndex=9223372036854775808",
    "startIndex=1.5",
    "order=up",
    "sort=Nothing",
    "isArchived=maybe",
    "modifiedSince=yesterday",
    "entityFolderId=abc",
    "cursor=abc",
    "cursor=W10",
    "search=%00",
    "search=%ff",
    "search=%ed%a0%80",
    "%ff=1",
)


@every_one_operation
def test_a_read_has_exactly_the_declared_fields(operation: Any, viewset: Any, api: Any) -> None:
    record = record_for(operation, api.key.site)
    answer = api.get(path_of(operation, viewset, str(record.pk).upper()))
    assert answer.status_code == 200, answer.content
    shape = answer.json()
    assert list(shape) == operation.response.plan().names
    assert shape["Id"] == str(record.pk)
    assert "Created" not in shape or STAMP.fullmatch(shape["Created"])


@shared_fixture
def keys(site: Site, other_site: Site) -> dict[DefaultRole, list[make.Key]]:
    """Return by role a key at the site and one at the other."""
    roles = (DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER)
    return {role: [make.make_key(at, role) for at in (site, other_site)] for role in roles}


@shared_fixture
def tokens(keys: dict[DefaultRole, list[make.Key]]) -> dict[str, str]:
    """Return tokens of those who hold the keys, by key."""
    return {key.secret: make_token(key.user) for several in keys.values() for key in several}


def api_of_key(key: make.Key, viewset: Any, tokens: dict[str, str]) -> Api:
    """Return a client with a key, and with a token and the site where the operation's endpoint wants them."""
    return Api(key) if viewset in BY_KEY_ALONE else SiteApi(key, Authorization=f"Bearer {tokens[key.secret]}")


read_operations = [entry for entry in ENDPOINT_OPERATIONS if entry[0].method == "GET"]


@pytest.mark.parametrize("role", [DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER])
@pytest.mark.parametrize(("operation", "viewset"), read_operations, ids=ids_of(read_operations))
def test_a_record_is_read_in_one_statement_and_a_list_in_three_at_most(
    operation: Any, viewset: Any, role: DefaultRole, site: Site, keys: Any, tokens: dict[str, str]
) -> None:
    api = api_of_key(keys[role][0], viewset, tokens)
    model = AuditProgram if operation.name == "GetAuditProgramRecordList" else None
    where = path_of(
        operation,
        viewset,
        (entry(model, site) if model else record_for(operation, site)).pk if operation.takes_id else "",
    )
    api.get(where)
    with CaptureQueriesContext(connection) as queries:
        assert api.get(where).status_code == 200
    is_single = operation.takes_id and not operation.many
    assert len(queries) <= (1 if is_single else 3), [query["sql"] for query in queries]


@every_one_operation
@pytest.mark.parametrize("end", ["key", "account", "roles", "site"])
def test_a_read_of_a_remembered_caller_ends_with_their_access(operation: Any, viewset: Any, end: str, api: Any) -> None:
    where = path_of(operation, viewset, record_for(operation, api.key.site).pk)
    assert api.get(where).status_code == 200
    assert api.get(where).status_code == 200
    key, user, site = SubscriptionKey.objects.get(), api.key.user, api.key.site
    if end == "key":
        SubscriptionKey.objects.update(revoked=now())
    elif end == "account":
        User.objects.filter(pk=user.pk).update(is_active=False)
    elif end == "roles":
        RoleMembership.objects.filter(user=user).delete()
    else:
        Site.objects.filter(pk=site.pk).update(is_archived=True)
    nothing = 404 if end == "roles" and viewset not in BY_KEY_ALONE else 403 if end == "roles" else 401
    assert api.get(where).status_code == nothing, key


@every_one_operation
def test_a_read_that_the_caller_has_already_is_304(operation: Any, viewset: Any, api: Any) -> None:
    where = path_of(operation, viewset, record_for(operation, api.key.site).pk)
    read = api.get(where)
    tag = read["ETag"]
    again = api.get(where, **{"If-None-Match": tag, "Accept-Encoding": "gzip"})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
    assert "Content-Type" not in again
    assert "Content-Length" not in again
    assert api.get(where, **{"If-None-Match": '"other"'}).status_code == 200
    head = api.send("HEAD", where)
    assert (head.status_code, head.content, head["ETag"]) == (200, b"", tag)
    assert head["Content-Length"] == read["Content-Length"] == str(len(read.content))


@every_record_list
def test_a_list_costs_the_same_for_3_and_for_30_records(operation: Any, viewset: Any, api: Any) -> None:
    where, counts = path_of(operation, viewset), []
    count = int(api.get(where)["X-Total-Count"])
    for number in (3, 27):
        for _ in range(number):
            record_for(operation, api.key.site)
        api.get(where)
        with CaptureQueriesContext(connection) as queries:
            answer = api.get(where)
        assert answer.status_code == 200, answer.content
        assert list(answer.json()[0]) == operation.response.plan().names
        counts.append(len(queries))
    assert counts[0] == counts[1] == 2
    assert int(answer["X-Total-Count"]) == count + 30


@every_record_list
def test_a_list_writes_its_objects_as_a_single_read_does(operation: Any, viewset: Any, site: Site) -> None:
    record_for(operation, site)
    plan = operation.response.plan()
    rows = list(plan.fetching(plan.model._default_manager.order_by("pk")))
    assert rows
    for with_private in (True, False):
        objects = [plan.show(row, with_private=with_private) for row in rows]
        assert plan.to_json(rows, with_private=with_private) == orjson.dumps(objects)


@contextmanager
def compiling(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield a list to which the models of the queries are added that are compiled in the block."""
    models: list[str] = []
    as_sql = SQLCompiler.as_sql

    def noting(compiler: Any, *args: Any, **more: Any) -> Any:
        models.append(compiler.query.model.__name__)
        return as_sql(compiler, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(SQLCompiler, "as_sql", noting)
        yield models


alike_lists = [entry for entry in record_lists if entry[0].name != "GetAttachmentList"]


@pytest.mark.parametrize("role", [DefaultRole.READER, DefaultRole.MANAGER])
@pytest.mark.parametrize(("operation", "viewset"), alike_lists, ids=ids_of(alike_lists))
def test_the_statement_of_a_page_is_compiled_once_for_all_callers(
    operation: Any, viewset: Any, role: DefaultRole, keys: Any, tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    where, pages = path_of(operation, viewset), []
    for key in keys[role]:
        api = api_of_key(key, viewset, tokens)
        for _ in range(3):
            record_for(operation, key.site)
        first = api.get(where, {"limit": "1"})
        # Where some records can be hidden from the caller, a full page and a later one are counted.
        queries = ["limit=5", "limit=6&order=desc"]
        if role == DefaultRole.MANAGER:
            queries.append(first["Link"].partition("?")[2].partition(">")[0])
        with compiling(monkeypatch) as models:
            for query in queries:
                answer = api.get(f"{where}?{query}")
                assert answer.status_code == 200, answer.content
        pages.append((models, {row["Id"] for row in api.get(where).json()}))
    assert pages[1][0] == []
    assert pages[0][1].isdisjoint(pages[1][1])


@every_list_operation
def test_a_list_is_three_statements_at_most(operation: Any, viewset: Any, api: Any) -> None:
    is_record_list = (operation, viewset) in record_lists
    for _ in range(4 if is_record_list else 0):
        record_for(operation, api.key.site)
    where = path_of(operation, viewset)
    samples = {"text": "none", "id": "a3c1b2d4-0000-4000-8000-000000000000", "date-time": "2020-01-01", "boolean": "1"}
    searches = [
        {one.name: one.choices[0] if one.choices else samples[one.kind]} for one in operation.parameters if one.filters
    ]
    searches += [{}, {"search": "e"}, {"modifiedSince": "2020-01-01"}]
    searches += [{**query, "limit": 1, "startIndex": 1} for query in searches]
    searches += [{"limit": 1, "modifiedSince": "2020-01-01"}, {"limit": 1, "sort": "Name", "startIndex": 2}]
    api.get(where)
    for query in searches:
        with CaptureQueriesContext(connection) as queries:
            answer = api.get(where, query)
        sortable = {name.casefold() for name in operation.response.plan().columns}
        assert answer.status_code == (400 if "sort" in query and "name" not in sortable else 200)
        assert len(queries) <= 3, (query, [one["sql"] for one in queries])


@every_record_list
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_every_sort_walks_each_record_once(operation: Any, viewset: Any, order: str, api: Any, settings: Any) -> None:
    settings.RATE_LIMIT = 100_000
    for _ in range(5):
        record_for(operation, api.key.site)
    for name in operation.response.plan().columns:
        start = where = path_of(operation, viewset) + f"?limit=2&order={order}&sort={name}"
        ids: list[str] = []
        while where:
            answer = api.get(where)
            assert answer.status_code == 200, (name, answer.content)
            ids += [record["Id"] for record in answer.json()]
            link = re.fullmatch(r'<([^>]+)>; rel="next"', answer.headers.get("Link", ""))
            where = link[1].removeprefix(settings.BASE_URL) if link else ""
        assert len(ids) == len(set(ids)) == int(answer["X-Total-Count"]), name
        everything = api.get(start.replace("limit=2", "limit=1000")).json()
        assert [record["Id"] for record in everything] == ids, name
        by_index = api.get(start.replace("limit=2", "startIndex=3")).json()
        assert [record["Id"] for record in by_index] == ids[3:], name


@every_list_operation
def test_a_wrong_list_parameter_is_refused(operation: Any, viewset: Any, api: Any) -> None:
    for query in WRONG_QUERIES:
        in_no_folder = query.startswith("entityFolderId") and not operation.lists_folders
        code = "UnknownParameter" if in_no_folder else "InvalidParameter"
        assert is_error(api.get(path_of(operation, viewset) + "?" + query), 400, code), query


FORGERIES: tuple[Any, ...] = (
    2**63,
    10**30,
    -(2**70),
    "a\x00",
    "\ud800",
    "0001-01-01T00:00:00+14:00",
    "1e999999",
    "NaN",
    True,
    [],
    {},
    None,
)


@every_list_operation
def test_a_forged_cursor_is_refused_whatever_it_holds(operation: Any, viewset: Any, api: Any, settings: Any) -> None:
    settings.RATE_LIMIT = 100_000
    key = "a3c1b2d4-0000-4000-8000-000000000000"
    for name in ("Name", "LastModified", "SiteSequenceId"):
        for value in FORGERIES:
            content = json.dumps([name, False, value, key, 2]).encode()
            for cursor_bytes in (content, content + bytes(DIGEST_BYTES)):
                cursor = base64.urlsafe_b64encode(cursor_bytes).decode().rstrip("=")
                answer = api.get(path_of(operation, viewset), {"sort": name, "cursor": cursor})
                assert is_error(answer, 400, "InvalidParameter"), (name, value)


def test_a_cursor_and_another_start_than_its_own_are_refused(api: Any, settings: Any) -> None:
    for number in range(5):
        make_item(api.key.site, name=f"Scale {number}")
    link = api.get("/item/GetItemList?limit=2")["Link"].partition("<")[2].partition(">")[0]
    following = link.removeprefix(settings.BASE_URL)
    assert "startIndex=2" in following
    assert [row["Name"] for row in api.get(following).json()] == ["Scale 2", "Scale 3"]
    other = following.replace("startIndex=2", "startIndex=4")
    assert is_error(api.get(other), 400, "InvalidParameter")


@pytest.mark.parametrize(
    "other",
    [
        "/customer/GetCustomerList?limit=2",
        "/item/GetItemList?limit=2&location=Hall",
        "/item/GetItemList?limit=2&isArchived=any",
        "/item/GetItemList?limit=2&order=desc",
        "/item/GetItemList?limit=2&sort=Name",
    ],
)
def test_a_cursor_of_another_list_filter_or_order_is_refused(other: str, api: Any, settings: Any) -> None:
    for number in range(5):
        make_item(api.key.site, name=f"Scale {number}", location="Hall")
    link = api.get("/item/GetItemList?limit=2")["Link"].partition("<")[2].partition(">")[0]
    cursor = link.partition("cursor=")[2].partition("&")[0]
    assert is_error(api.get(f"{other}&cursor={cursor}"), 400, "InvalidParameter")
    longer = api.get(f"/item/GetItemList?limit=3&cursor={cursor}")
    assert [row["Name"] for row in longer.json()] == ["Scale 2", "Scale 3", "Scale 4"]


def test_a_cursor_that_was_changed_is_refused_and_one_signed_by_the_former_secret_key_is_not(
    api: Any, settings: Any
) -> None:
    for number in range(3):
        make_item(api.key.site, name=f"Scale {number}")
    link = api.get("/item/GetItemList?limit=2")["Link"].partition("<")[2].partition(">")[0]
    cursor = link.partition("cursor=")[2].partition("&")[0]
    other = "A" if cursor[20] != "A" else "B"
    for forgery in (
        f"{cursor[:20]}{other}{cursor[21:]}",
        cursor[:-4],
        f"{cursor}!",
        f"{cursor[:8]} {cursor[8:]}",
        "",
        "é",
    ):
        assert is_error(api.get("/item/GetItemList", {"limit": "2", "cursor": forgery}), 400, "InvalidParameter"), (
            forgery
        )
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another-key-" * 5, [settings.SECRET_KEY]
    assert [row["Name"] for row in api.get(f"/item/GetItemList?limit=2&cursor={cursor}").json()] == ["Scale 2"]
    settings.SECRET_KEY_FALLBACKS = []
    assert is_error(api.get(f"/item/GetItemList?limit=2&cursor={cursor}"), 400, "InvalidParameter")


@every_list_operation
def test_a_text_filter_takes_as_many_values_as_an_address_holds(operation: Any, viewset: Any, api: Any) -> None:
    many = ",".join(f"{number:x}" for number in range(1500))
    for parameter in operation.parameters:
        if parameter.kind == "text":
            answer = api.get(path_of(operation, viewset), {parameter.name: many})
            assert answer.status_code == 200, (parameter.name, answer.content)


@every_list_operation
def test_whatever_text_can_be_stored_can_be_asked_for(operation: Any, viewset: Any, api: Any) -> None:
    names = ["search", *(parameter.name for parameter in operation.parameters if parameter.kind == "text")]
    for name in names:
        for text in ("a\u00a0b", "\u3000", "zero\u200djoined", "two\nlines", "a\ttab", "a\r\nb", "1" * 5000):
            answer = api.get(path_of(operation, viewset), {name: text})
            assert answer.status_code == 200, (name, text, answer.content)
        for text in ("a\x00", "\x1b[0m"):
            assert is_error(api.get(path_of(operation, viewset), {name: text}), 400, "InvalidParameter"), (name, text)


def test_a_page_has_a_hundred_rows_unless_another_number_is_asked_for(api: Any) -> None:
    usual = api.get("/category/GetCountryList")
    assert (len(usual.json()), int(usual["X-Total-Count"]) > 200) == (100, True)
    assert "startIndex=100&" in usual["Link"]
    answer = api.get("/category/GetCountryList?limit=1000")
    assert len(answer.json()) == int(answer["X-Total-Count"]) == int(usual["X-Total-Count"])
    assert "Link" not in answer
    assert answer.json()[:100] == usual.json()


@every_list_operation
def test_list_parameters_are_named_in_any_case(operation: Any, viewset: Any, api: Any) -> None:
    answer = api.get(path_of(operation, viewset) + "?LIMIT=5&startindex=0&Order=ASC&ISARCHIVED=0")
    assert answer.status_code == 200, answer.content


@every_list_operation
def test_an_offset_whose_plus_was_sent_unencoded_is_understood(operation: Any, viewset: Any, api: Any) -> None:
    for moment in ("2020-01-01T00:00:00+02:00", "2020-01-01T00:00:00.1234567+02:00", "2020-01-01T00:00:00.5%2B02:00"):
        assert api.get(f"{path_of(operation, viewset)}?modifiedSince={moment}").status_code == 200, moment
    assert is_error(api.get(path_of(operation, viewset) + "?modifiedSince=2020-01-01+02:00"), 400, "InvalidParameter")


@every_list_operation
def test_every_filter_reads_its_own_kind(operation: Any, viewset: Any, api: Any) -> None:
    samples = {"text": "none", "id": "a3c1b2d4-0000-4000-8000-000000000000", "date-time": "2020-01-01", "boolean": "1"}
    for parameter in (one for one in operation.parameters if one.filters):
        value = parameter.choices[0] if parameter.choices else samples[parameter.kind]
        for text in (value, value if parameter.kind == "date-time" else f"{value},{value}"):
            answer = api.get(path_of(operation, viewset), {parameter.name: text})
            assert answer.status_code == 200, (parameter.name, answer.content)
        if parameter.kind != "text":
            assert is_error(api.get(path_of(operation, viewset), {parameter.name: "~"}), 400, "InvalidParameter")
