"""What calls with and without a valid token leave behind, and what every answer says to caches."""

import re
import time
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scim.models import ProvisioningCall
from tests.scim.conftest import MOUNTS, Scim, assert_error


def test_calls_without_a_valid_token_write_no_row_and_are_limited(scim: Any, settings: Any) -> None:
    settings.AUTH_FAILURE_LIMIT = 3
    stranger, wrong = Scim(""), Scim("lt_wrong")
    stranger.client.get("/scim/Users")
    with CaptureQueriesContext(connection) as queries:
        assert stranger.client.get("/scim/Users").status_code == 401
        answers = [wrong.get("/Users").status_code for _ in range(5)]
    assert answers == [401, 401, 401, 429, 429]
    assert not [query["sql"] for query in queries if re.search("INSERT|UPDATE|DELETE", query["sql"])]
    assert ProvisioningCall.objects.count() == 0
    assert scim.get("/Users").status_code == 200
    assert ProvisioningCall.objects.count() == 1


@pytest.mark.parametrize("mount", MOUNTS)
@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "/Users", "/Users/", f"/Users/{UUID(int=7)}", "/Users/.search", "/Groups", f"/Groups/{UUID(int=7)}"),
        *("/.search", "/Bulk", "/Me", "/Schemas", "/Schemas/User", "/ResourceTypes", "/ServiceProviderConfig", "/nope"),
    ],
)
def test_every_endpoint_asks_for_a_token_before_anything_else(mount: str, path: str) -> None:
    for method in ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"):
        answer = Scim("", mount).send(method, path, "{")
        assert answer.status_code == 401, (method, answer.content)
        assert answer["WWW-Authenticate"] == 'Bearer realm="provisioning"'
        if method != "HEAD":
            assert_error(answer, 401)


def test_every_answer_is_for_its_caller_alone(both: Any) -> None:
    user = both.add_user("mira")
    answers = [
        both.get("/Users"),
        both.get(f"/Users/{user['id']}"),
        both.get(f"/Users/{user['id']}", **{"If-None-Match": user["meta"]["version"]}),
        both.get("/Schemas"),
        both.get("/Nowhere"),
        both.post("/Users", {}),
        Scim("lt_wrong", both.mount).get("/Users"),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 304, 200, 404, 400, 401]
    for answer in answers:
        assert answer["Cache-Control"] == "private, no-store"
        assert set(answer["Vary"].split(", ")) == {"Authorization", "Accept"}


def test_a_version_matches_in_its_strong_form_too(scim: Any) -> None:
    user = scim.add_user("mira")
    where, version = f"/Users/{user['id']}", user["meta"]["version"].removeprefix("W/")
    assert scim.get(where, **{"If-None-Match": version}).status_code == 304
    assert_error(scim.delete(where, **{"If-Match": '"99"'}), 412)
    assert scim.delete(where, **{"If-Match": version}).status_code == 204


def test_attributes_made_of_brackets_cost_no_quadratic_time(scim: Any) -> None:
    start = time.process_time()
    for text in ("[" * 19_000, "[" * 50_000, "a[" * 9_000):
        scim.post("/Users/.search", {"attributes": text})
        scim.post("/Users/.search", {"excludedAttributes": [text]})
    assert time.process_time() - start < 1
    assert_error(scim.post("/Users/.search", {"attributes": "[" * 50_000}), 400, "invalidValue")
    assert scim.post("/Users/.search", {"attributes": "[" * 19_000}).status_code == 200
