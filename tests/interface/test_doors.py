"""Who gets in: keys, roles, sites, methods and ids, for every operation that a key opens."""

import uuid
from typing import Any

import pytest

from records.accounts import actions
from records.accounts.keys import revoke_key
from records.accounts.models import DefaultRole, Role, SubscriptionKey
from records.operations.operation import READER
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.interface.subjects import ENDPOINT_OPERATIONS, KEY_OPERATIONS, body_for, ids_of, path_of, record_for
from tests.make.items import make_item

every_operation = pytest.mark.parametrize(
    ("operation", "viewset"), ENDPOINT_OPERATIONS, ids=ids_of(ENDPOINT_OPERATIONS)
)
every_key_operation = pytest.mark.parametrize(("operation", "viewset"), KEY_OPERATIONS, ids=ids_of(KEY_OPERATIONS))
id_operations = [entry for entry in ENDPOINT_OPERATIONS if entry[0].takes_id]
every_id_operation = pytest.mark.parametrize(("operation", "viewset"), id_operations, ids=ids_of(id_operations))
uuid_operations = [entry for entry in KEY_OPERATIONS if entry[0].takes_id]
every_uuid_operation = pytest.mark.parametrize(("operation", "viewset"), uuid_operations, ids=ids_of(uuid_operations))
slashless_operations = [entry for entry in ENDPOINT_OPERATIONS if not entry[0].pattern.endswith("/")]
every_slashless_operation = pytest.mark.parametrize(
    ("operation", "viewset"), slashless_operations, ids=ids_of(slashless_operations)
)
BELOW = {DefaultRole.STANDARD: DefaultRole.READER, DefaultRole.MANAGER: DefaultRole.STANDARD}


def send(api: Any, operation: Any, viewset: Any, key: Any = "", body: Any = None, **headers: str) -> Any:
    """Send an operation's request."""
    return api.send(operation.method, path_of(operation, viewset, key or uuid.uuid4()), body, **headers)


def is_error(answer: Any, status: int, code: str) -> bool:
    """Return whether the answer is that refusal, in the envelope."""
    assert answer.status_code == status, answer.content
    shape = answer.json()
    assert shape.keys() == {"Error", "Message", "Id", "Fields", "RequestId"}
    assert shape["RequestId"] == answer["X-Request-Id"]
    assert shape["Id"] == ""
    assert shape["Message"]
    assert answer["X-Api-Version"] == "1"
    return bool(shape["Error"] == code)


@every_operation
def test_no_row_answers_without_a_key(operation: Any, viewset: Any, db: None) -> None:
    answer = send(Api(), operation, viewset)
    assert is_error(answer, 401, "Unauthorized")
    assert answer["WWW-Authenticate"]


@every_operation
def test_every_answer_is_for_its_caller_alone(operation: Any, viewset: Any, api: Any) -> None:
    for client in (api, Api(), Api(**{"Ocp-Apim-Subscription-Key": "lk_wrong"})):
        answer = send(client, operation, viewset)
        assert answer["Cache-Control"] == "private, no-store", answer.status_code
        assert answer["X-Api-Version"] == "1"
        limits = [answer.headers.get(f"X-RateLimit-{name}", "") for name in ("Limit", "Remaining", "Reset")]
        assert [text.isdecimal() for text in limits] == [client is api] * 3
        differs = answer["Vary"].split(", ")
        assert "Ocp-Apim-Subscription-Key" in differs
        assert ("Authorization" in differs) == ((operation, viewset) not in KEY_OPERATIONS)


def test_every_status_is_for_its_caller_alone(api: Any, settings: Any) -> None:
    path = f"/item/GetItem/{make_item(api.key.site).pk}"
    update, stale = path.replace("Get", "Update"), {"If-Match": '"9"'}
    settings.RATE_LIMIT = 11
    answers = [
        api.get(path),
        api.get(path, None, **{"If-None-Match": "*"}),
        api.get("/item/GetItem/x"),
        api.get(f"/item/GetItem/{uuid.uuid4()}"),
        api.send("DELETE", path),
        api.get(path, None, Accept="text/html"),
        api.post("/item/AddItem", {"Name": "Scale"}, **{"Idempotency-Key": "k"}),
        api.post("/item/AddItem", {"Name": "Oven"}, **{"Idempotency-Key": "k"}),
        api.put(update, {}, **stale),
        api.send("PUT", update, "x" * (16 * 1024 * 1024 + 1)),
        api.send("PUT", update, "x", "text/plain"),
        api.get(path),
    ]
    expected = [200, 304, 400, 404, 405, 406, 200, 409, 412, 413, 415, 429]
    assert [answer.status_code for answer in answers] == expected
    for answer in answers:
        assert answer["Cache-Control"] == "private, no-store", answer.status_code
        assert "Ocp-Apim-Subscription-Key" in answer["Vary"].split(", "), answer.status_code
        assert answer["X-RateLimit-Limit"] == "11", answer.status_code


@every_operation
def test_no_row_answers_to_a_wrong_or_revoked_key(operation: Any, viewset: Any, api: Any) -> None:
    wrong = Api(**{"Ocp-Apim-Subscription-Key": "lk_wrong"})
    assert is_error(send(wrong, operation, viewset), 401, "Unauthorized")
    revoke_key(SubscriptionKey.objects.get().pk, author=make.SYSTEM)
    assert is_error(send(api, operation, viewset), 401, "Unauthorized")


@every_key_operation
def test_a_row_is_forbidden_below_its_lowest_role(operation: Any, viewset: Any, site: Site) -> None:
    if operation.role == READER:
        user = make.make_user(site=site)
        role = actions.add_role(Role(site=site, name="Nothing"), author=make.SYSTEM)
        actions.set_members(role, add=[user], author=make.SYSTEM)
        api = Api(make.make_key(site, user=user))
    else:
        api = Api(make.make_key(site, BELOW[operation.role]))
    body = body_for(operation, site) if operation.request else None
    assert is_error(send(api, operation, viewset, body=body), 403, "Forbidden")


@every_id_operation
def test_a_record_of_another_site_does_not_exist(operation: Any, viewset: Any, api: Any, other_site: Site) -> None:
    record = record_for(operation, other_site)
    body = body_for(operation, api.key.site) if operation.request else None
    answer = send(api, operation, viewset, record.pk, body)
    assert is_error(answer, 404, "NotFound")
    assert send(api, operation, viewset, uuid.uuid4(), body).json()["Message"] == answer.json()["Message"]


@every_uuid_operation
def test_a_malformed_id_is_refused_as_such(operation: Any, viewset: Any, api: Any) -> None:
    for key in ("abc", "1", "%00", "00000000000000000000000000000000", "{id}", "%20"):
        assert is_error(send(api, operation, viewset, key), 400, "InvalidId"), key


@every_operation
def test_other_methods_are_refused_with_allow(operation: Any, viewset: Any, api: Any) -> None:
    methods = {
        other.method for other, its in ENDPOINT_OPERATIONS if (its, other.pattern) == (viewset, operation.pattern)
    }
    for method in sorted({"GET", "POST", "PUT", "PATCH", "DELETE"} - methods):
        answer = api.send(method, path_of(operation, viewset, uuid.uuid4()), {})
        assert is_error(answer, 405, "MethodNotAllowed")
        assert operation.method in answer["Allow"]
    options = api.send("OPTIONS", path_of(operation, viewset, uuid.uuid4()))
    assert options.status_code in (200, 204)
    assert operation.method in options["Allow"]


@every_slashless_operation
def test_a_trailing_slash_is_accepted_and_never_redirected(operation: Any, viewset: Any, api: Any) -> None:
    plain = send(api, operation, viewset)
    with_slash = api.send(operation.method, path_of(operation, viewset, uuid.uuid4()) + "/")
    assert with_slash.status_code == plain.status_code
    assert with_slash.status_code < 300 or with_slash.status_code >= 400


@every_operation
def test_an_unknown_query_parameter_is_refused(operation: Any, viewset: Any, api: Any) -> None:
    answer = api.send(operation.method, path_of(operation, viewset, uuid.uuid4()) + "?sarch=x")
    assert is_error(answer, 400, "UnknownParameter")
    assert not operation.many or "search" in answer.json()["Message"]


@every_operation
def test_a_media_type_that_is_not_offered_is_refused(operation: Any, viewset: Any, api: Any) -> None:
    assert is_error(send(api, operation, viewset, Accept="text/html"), 406, "NotAcceptable")


def test_an_unknown_path_answers_in_the_envelope(api: Any) -> None:
    for path in ("/employee/GetNothing", "/nothing", "/employee/", "/"):
        assert is_error(api.get(path), 404, "NotFound")


def test_a_foreign_host_is_refused_without_a_traceback(api: Any, caplog: Any) -> None:
    assert is_error(api.get("/employee/GetEmployeeList", Host="evil.example"), 400, "UnknownHost")
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/employee/GetEmployeeList", 200),
        ("/employee/GetEmployee/x", 400),
        ("/employee/GetNothing", 404),
        ("/scim/Users", 401),
        ("/scim/Nothing", 401),
        ("/healthz", 200),
        ("/openapi.json", 200),
        ("/oauth/token", 405),
    ],
)
def test_interface_answers_load_nothing_when_a_browser_opens_them(api: Any, path: str, status: int) -> None:
    answer = api.get(path)
    assert answer.status_code == status
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert not answer.cookies


def test_pages_keep_a_policy_of_their_own(api: Any) -> None:
    assert "script-src 'self'" in api.get("/docs/", Accept="*/*")["Content-Security-Policy"]


def test_subdomains_are_bound_to_tls_on_every_answer(api: Any, settings: Any) -> None:
    settings.SECURE_HSTS_SECONDS, settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = 60, True
    assert api.get("/employee/GetEmployeeList")["Strict-Transport-Security"] == "max-age=60; includeSubDomains"
    settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = False
    assert api.get("/employee/GetEmployeeList")["Strict-Transport-Security"] == "max-age=60"
