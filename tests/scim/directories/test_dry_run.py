"""What a dry-run token does: every write is checked, answered and logged as it would be, and nothing is stored."""

import re
from typing import Any

import pytest
from django_tasks_db.models import DBTaskResult

from records.accounts.models import (
    DefaultRole,
    Directory,
    DirectoryRemoval,
    ProvisioningToken,
    RoleMembership,
    SecurityEvent,
    SecurityKind,
    User,
)
from records.employees.models import Employee
from records.history.models import ChainHead, Change
from records.sites.models import Site
from scim.log import DRY_RUN
from scim.models import ProvisioningCall
from tests import make
from tests.scim import people
from tests.scim.conftest import Scim, assert_error
from tests.scim.protocol.test_bulk_and_cursors import add_user, send, statuses

OFF = {"op": "replace", "path": "active", "value": False}
NAME = "tried@corp.local"


@pytest.fixture
def dry(both: Scim, directory: Directory) -> Scim:
    """Return a client with a dry-run token, on the mount of `both`."""
    return Scim(people.make_token(directory, dry_run=True), both.mount)


def stored() -> tuple[Any, ...]:
    """Return what no dry run may change."""
    return (
        list(User.objects.order_by("pk").values()),
        list(Employee.objects.order_by("pk").values()),
        list(RoleMembership.objects.order_by("pk").values()),
        list(ChainHead.objects.order_by("pk").values()),
        list(Directory.objects.order_by("pk").values()),
        Change.objects.count(),
        SecurityEvent.objects.count(),
        DirectoryRemoval.objects.count(),
        DBTaskResult.objects.count(),
    )


def without_ids(document: Any) -> str:
    """Return a document as text without what differs between two resources that were made alike."""
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[^\"']*|Employee-?\d+", "…", str(document))


def last_outcome() -> str:
    return ProvisioningCall.objects.order_by("-id").values_list("outcome", flat=True)[0]


def test_a_user_is_answered_as_if_added_and_is_not_there_and_takes_no_number(
    both: Scim, dry: Scim, directory: Directory
) -> None:
    Directory.objects.update(sends_invitations=True)
    before = stored()
    trial = dry.post("/Users", people.user_body(NAME))
    assert stored() == before
    assert last_outcome().startswith(f"{DRY_RUN}Created: ")
    answer = both.post("/Users", people.user_body(NAME))
    assert (trial.status_code, answer.status_code) == (201, 201)
    assert without_ids(trial.json()) == without_ids(answer.json())
    assert trial["ETag"] == answer["ETag"]
    assert dry.get(f"/Users/{trial.json()['id']}").status_code == 404
    assert dry.get(f"/Users/{answer.json()['id']}").status_code == 200
    assert not last_outcome().startswith(DRY_RUN)
    assert DBTaskResult.objects.exists()


def test_changes_removals_and_groups_are_rolled_back(both: Scim, dry: Scim) -> None:
    user, group = both.add_user("mira@corp.local"), both.add_group("Bakers")
    before = stored()
    answer = dry.put(f"/Users/{user['id']}", {**user, "title": "Lead", "active": False})
    assert (answer.json()["title"], answer.json()["active"]) == ("Lead", False)
    assert answer["ETag"] != user["meta"]["version"]
    assert dry.put(f"/Groups/{group['id']}", {**group, "members": [{"value": user["id"]}]}).status_code == 200
    assert "Members: 1 added" in last_outcome()
    assert dry.post("/Groups", {"schemas": [people.GROUP], "displayName": "New"}).status_code == 201
    assert dry.delete(f"/Users/{user['id']}").status_code == 204
    assert dry.delete(f"/Groups/{group['id']}").status_code == 204
    assert last_outcome().startswith(DRY_RUN)
    assert dry.apply(f"/Users/{user['id']}", OFF).status_code in (200, 204)
    assert stored() == before
    assert both.user(user["id"]) == user


def test_what_would_be_refused_is_refused_alike(both: Scim, dry: Scim) -> None:
    user = both.add_user("mira@corp.local")
    before = stored()
    assert_error(dry.post("/Users", people.user_body("mira@corp.local")), 409, "uniqueness")
    assert last_outcome().startswith(f"{DRY_RUN}Refused: ")
    assert_error(dry.put(f"/Users/{user['id']}", {**user, "userName": ""}), 400, "invalidValue")
    assert_error(dry.put(f"/Users/{user['id']}", user, If_Match='W/"999"'), 412)
    assert_error(dry.post("/Users", "{"), 400, "invalidSyntax")
    assert stored() == before


def test_the_brake_refuses_and_neither_counts_nor_stops(both: Scim, dry: Scim, site: Site, settings: Any) -> None:
    settings.DIRECTORY_BRAKE_PEOPLE = 2
    make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR, email="admin@corp.local")
    ids = [both.add_user(f"person{number}@corp.local")["id"] for number in range(4)]
    before = stored()
    for key in ids:
        assert dry.delete(f"/Users/{key}").status_code == 204
    assert stored() == before
    removals = [{"method": "DELETE", "path": f"/Users/{key}"} for key in ids]
    assert statuses(send(dry, *removals)) == ["204", "204", "403", "403"]
    assert "mass removal" in send(dry, *removals).json()["Operations"][2]["response"]["detail"]
    for key in ids[:2]:
        both.delete(f"/Users/{key}")
    before = stored()
    answer = dry.delete(f"/Users/{ids[2]}")
    assert_error(answer, 403)
    assert stored() == before
    assert Directory.objects.get().stopped is None
    assert not SecurityEvent.objects.filter(kind=SecurityKind.DIRECTORY_STOPPED).exists()


def test_a_bulk_sees_its_own_effects_and_is_rolled_back_as_a_whole(both: Scim, dry: Scim) -> None:
    both.add_user("taken@corp.local")
    before = stored()
    answer = send(
        dry,
        add_user(NAME, "new"),
        add_user(NAME, "again"),
        add_user("taken@corp.local", "taken"),
        {
            "method": "POST",
            "path": "/Groups",
            "bulkId": "group",
            "data": {"displayName": "Team", "members": [{"value": "bulkId:new"}]},
        },
        {"method": "PUT", "path": "/Users/bulkId:new", "data": people.user_body(NAME, title="Lead")},
        {"method": "DELETE", "path": "/Users/bulkId:new"},
        {"method": "DELETE", "path": "/Users/bulkId:new"},
    )
    assert statuses(answer) == ["201", "409", "409", "201", "200", "204", "404"]
    assert stored() == before
    lines = list(ProvisioningCall.objects.order_by("-id")[:8].values_list("method", "outcome"))
    assert len(lines) == 8
    assert all(outcome.startswith(DRY_RUN) for _, outcome in lines)
    outcome_of_put = next(outcome for method, outcome in lines if method == "PUT")
    assert outcome_of_put == f"{DRY_RUN}Changed: title."


def test_reads_and_searches_are_as_always_and_read_only_comes_first(dry: Scim, directory: Directory) -> None:
    search = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"]}
    assert dry.post("/Users/.search", search).json()["totalResults"] == 0
    assert not last_outcome().startswith(DRY_RUN)
    reader = Scim(people.make_token(directory, dry_run=True, read_only=True), dry.mount)
    assert_error(reader.post("/Users", people.user_body(NAME)), 403)


def test_a_dry_run_is_counted_against_the_limit(dry: Scim, settings: Any) -> None:
    settings.SCIM_RATE_LIMIT = 2
    answers = [dry.post("/Users", people.user_body(NAME)).status_code for _ in range(3)]
    assert answers == [201, 201, 429]


def test_the_form_makes_a_dry_run_token_and_the_page_shows_it(client: Any, site: Site, directory: Directory) -> None:
    client.force_login(make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR))
    page = f"/admin/accounts/directory/{directory.pk}/connection/"
    form = {"do": "issue", "name": "HR", "dialect": "documented", "dry_run": "on"}
    assert "<td>dry run</td>" in client.post(page, form, follow=True).text
    assert ProvisioningToken.objects.get().dry_run is True
