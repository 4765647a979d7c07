"""Without a valid credential, neither the text of an answer nor its SQL statements show what exists."""

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from records.accounts import actions, calendar_links, keys, peppers
from records.accounts.models import DefaultRole, Directory, ProvisioningToken, SubscriptionKey, User
from records.history.trail import now
from records.sites.models import Site
from tests import make
from tests.scim import people
from tests.scim.conftest import Scim

pytestmark = pytest.mark.django_db

NOBODY = "534a5258-8a54-48f0-8d76-c2c9b04c9b46"
_VARYING = ("X-Request-Id", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Expires")


def facts_of(ask: Callable[..., Any], *values: str) -> tuple[Any, ...]:
    """Return what an answer tells: status, text without the values sent, headers, and SQL statements."""
    with CaptureQueriesContext(connection) as queries:
        answer = ask(*values)
    text = answer.content.decode()
    for value in values:
        text = text.replace(value, "…")
    text = re.sub(r'"(RequestId|requestId)": ?"[^"]*"|csrfmiddlewaretoken" value="[^"]*"', "", text)
    headers = {name: header for name, header in answer.headers.items() if name not in (*_VARYING, "Content-Length")}
    return answer.status_code, text, headers, [re.sub(r"'[^']*'", "?", query["sql"])[:200] for query in queries]


def differences(facts_by_case: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Return the answers that differ from the one about what does not exist."""
    return {name: facts for name, facts in facts_by_case.items() if facts != facts_by_case["unknown"]}


def by_key(secret: str) -> Any:
    """Call an operation with a subscription key."""
    return Client().get("/item/GetItemList", headers={"Ocp-Apim-Subscription-Key": secret})


def by_token(secret: str) -> Any:
    """Call the provisioning interface with a token."""
    return Scim(secret).get("/Users")


def by_path(path: str) -> Any:
    """Open an address that is its own credential."""
    return Client().get(path)


def test_a_key_that_ended_is_answered_like_one_that_there_never_was(site: Site) -> None:
    secrets = {"unknown": peppers.new_secret("lk"), "malformed": "Ä" * 40}
    rows = {}
    for name in ("revoked", "expired", "of an ended account"):
        secrets[name] = make.make_key(site).secret
        rows[name] = SubscriptionKey.objects.get(digest=peppers.digest(secrets[name]))
    keys.revoke_key(rows["revoked"].pk, author=make.SYSTEM)
    SubscriptionKey.objects.filter(pk=rows["expired"].pk).update(expires=now() - timedelta(seconds=1))
    User.objects.filter(pk=rows["of an ended account"].user_id).update(is_active=False)
    # Let the process read what the roles permit, which it does only once.
    assert Client().get("/item/GetItemList", headers=make.make_key(site).headers).status_code == 200
    facts_by_case = {name: facts_of(by_key, secret) for name, secret in secrets.items()}
    assert facts_by_case["unknown"][0] == 401
    assert differences(facts_by_case) == {}


def test_a_token_that_ended_is_answered_like_one_that_there_never_was(site: Site) -> None:
    directory = people.make_directory(site)
    secrets = {"unknown": peppers.new_secret("lp"), "revoked": people.make_token(directory, revoked=now())}
    secrets["expired"] = people.make_token(directory, expires=now() - timedelta(seconds=1))
    archived = people.make_directory(site)
    secrets["of an archived directory"] = people.make_token(archived)
    Directory.objects.filter(pk=archived.pk).update(is_archived=True)
    assert ProvisioningToken.objects.count() == 3
    facts_by_case = {name: facts_of(by_token, secret) for name, secret in secrets.items()}
    assert facts_by_case["unknown"][0] == 401
    assert differences(facts_by_case) == {}


def test_a_calendar_link_that_ended_is_answered_like_one_that_there_never_was(site: Site) -> None:
    ann, ben = (make.make_user(site=site, role=DefaultRole.READER) for _ in range(2))
    _, revoked_secret = calendar_links.issue_link(ann, author=make.SYSTEM)
    _, secret_of_ended_account = calendar_links.issue_link(ben, author=make.SYSTEM)
    calendar_links.revoke_links(ann, author=make.SYSTEM)
    actions.end_access(ben, author=make.SYSTEM)
    secrets = {"unknown": peppers.new_secret("lc"), "revoked": revoked_secret, "ended": secret_of_ended_account}
    facts_by_case = {name: facts_of(by_path, reverse("calendar", args=(secret,))) for name, secret in secrets.items()}
    assert facts_by_case["unknown"][0] == 404
    assert differences(facts_by_case) == {}


def test_a_mailed_link_tells_nothing_about_the_account_that_it_names(site: Site) -> None:
    accounts = {
        "live": make.make_user("ann", site=site),
        "ended": make.make_user(site=site, is_active=False),
        "integration": make.make_user(site=site, is_service_account=True),
    }
    names = {"unknown": NOBODY, "malformed": "nobody", **{name: str(user.pk) for name, user in accounts.items()}}
    facts_by_case = {}
    for name, key in names.items():
        uid = urlsafe_base64_encode(force_bytes(key))
        path = reverse("password_reset_confirm", args=(uid, "d0abcd-0123456789abcdef0123456789abcdef"))
        facts_by_case[name] = facts_of(by_path, path)[:3]
    assert "This link is not valid any more" in facts_by_case["unknown"][1]
    assert differences(facts_by_case) == {}


# --- Other sites' people, for a directory -----------------------------------------------------------------------------

SCIM_ACTS: dict[str, Callable[[Scim, str, str], Any]] = {
    "filter by name": lambda scim, key, name: scim.get("/Users", {"filter": f'userName eq "{name}"'}),
    "search by name": lambda scim, key, name: scim.post("/.search", {"filter": f'userName eq "{name}"'}),
    "filter by id": lambda scim, key, name: scim.get("/Users", {"filter": f'id eq "{key}"'}),
    "read": lambda scim, key, name: scim.get(f"/Users/{key}"),
    "patch": lambda scim, key, name: scim.patch(f"/Users/{key}", {"op": "replace", "value": {"active": False}}),
    "put": lambda scim, key, name: scim.put(f"/Users/{key}", people.user_body("somebody")),
    "delete": lambda scim, key, name: scim.delete(f"/Users/{key}"),
}


@pytest.mark.parametrize("act", SCIM_ACTS)
def test_a_directory_cannot_tell_another_sites_person_from_nobody(site: Site, other_site: Site, act: str) -> None:
    scim = Scim(people.make_token(people.make_directory(site)))
    elsewhere = people.make_directory(other_site)
    provisioned_user = Scim(people.make_token(elsewhere)).post("/Users", people.user_body("owned")).json()
    local = make.make_user("local", site=other_site, role=DefaultRole.MANAGER)
    make.make_employee(other_site, id=local.pk, user=local)
    without_employee = make.make_user("plain", site=site, role=DefaultRole.MANAGER)
    targets = {
        "unknown": (NOBODY, "nobody"),
        "owned": (provisioned_user["id"], "owned"),
        "local": (str(local.pk), "local"),
        "without an employee": (str(without_employee.pk), "plain"),
    }
    SCIM_ACTS[act](scim, NOBODY, "nobody")
    facts_by_case = {name: facts_of(partial(SCIM_ACTS[act], scim), *values) for name, values in targets.items()}
    assert facts_by_case["unknown"][0] in (200, 404)
    if act in ("patch", "put", "delete"):
        # A write locks the row before it judges it. Ids are random, so nobody guesses one and measures that.
        facts_by_case = {name: facts[:3] for name, facts in facts_by_case.items()}
    assert differences(facts_by_case) == {}
    assert set(User.objects.filter(is_service_account=False).values_list("is_active", flat=True)) == {True}
