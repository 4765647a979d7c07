"""The operations of actions: what is stored, what is listed, and who takes which step."""

import uuid
from functools import partial
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from records.accounts.models import DefaultRole, User
from records.actions.models import Action, Status
from records.complaints import workflow
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.actions import make_action, move
from tests.make.audits import make_audit, make_program
from tests.make.complaints import make_complaint
from tests.make.items import make_item

READER, STANDARD, MANAGER = DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER


def api_of(site: Site, role: DefaultRole, user: User | None = None) -> Api:
    """Return a client with a key of somebody in the role."""
    return Api(make.make_key(site, role, user=user))


def user_of(api: Api) -> User:
    """Return whose key the client carries."""
    assert api.key is not None
    return api.key.user


def body(site: Site, **fields: Any) -> dict[str, Any]:
    """Return a body for AddAction with the required fields."""
    owner = make.make_user(site=site, role=READER)
    return {"Name": "Train line 2", "OwnerId": str(owner.pk), "DueDate": "2020-01-01", **fields}


def put(api: Api, action: Action, **fields: Any) -> Any:
    """Send UpdateAction."""
    return api.put(f"/action/UpdateAction/{action.pk}", fields)


def test_an_action_reads_back_as_it_was_sent(site: Site) -> None:
    api = api_of(site, STANDARD)
    complaint = make_complaint(site)
    data = body(site, RecordId=str(complaint.pk), Kind="corrective", Priority="High", Description="All of them.")
    key = api.post("/action/AddAction", data).json()["Id"]
    shape = api.get(f"/action/GetAction/{key}").json()
    expected = {**data, "Kind": "Corrective", "DueDate": "2020-01-01T00:00:00.000Z", "RecordStatus": "Open"}
    assert {name: shape[name] for name in expected} == expected
    empty = ("FindingId", "CauseId", "VerifiedBy", "Effective", "ClosedBy", "ClosedDate")
    assert [shape[name] for name in empty] == [None] * len(empty)
    assert (shape["Result"], shape["SiteSequenceId"]) == ("", 1)


@pytest.mark.parametrize("kind", ["another site's", "unknown", "an employee", "a draft"])
def test_an_action_is_about_a_record_that_the_site_has_and_shows(site: Site, other_site: Site, kind: str) -> None:
    record_id = {
        "another site's": lambda: make_item(other_site).pk,
        "unknown": uuid.uuid4,
        "an employee": lambda: make.make_employee(site).pk,
        "a draft": lambda: workflow.add_draft(site.pk, {}, author=make.SYSTEM).pk,
    }[kind]()
    answer = api_of(site, STANDARD).post("/action/AddAction", body(site, RecordId=str(record_id)))
    assert answer.status_code == 400
    assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [("RecordId", "InvalidReference")]
    assert answer.json()["Message"] == "RecordId: No such record at this site."


def test_a_finding_is_one_of_the_audit_that_the_action_is_about(site: Site) -> None:
    api = api_of(site, STANDARD)
    audit, other_audit = make_audit(make_program(site)), make_audit(make_program(site))
    for record in (audit, other_audit):
        record.findings.create(question="Are the crates whole?")
    finding, foreign = str(audit.findings.get().pk), str(other_audit.findings.get().pk)
    response = api.post("/action/AddAction", body(site, RecordId=str(audit.pk), FindingId=finding))
    assert api.get(f"/action/GetAction/{response.json()['Id']}").json()["FindingId"] == finding
    for wrong in ({"RecordId": str(audit.pk), "FindingId": foreign}, {"FindingId": finding}):
        answer = api.post("/action/AddAction", body(site, **wrong))
        assert answer.json()["Fields"][0]["Field"] == "FindingId"
        assert answer.status_code == 400


def test_an_action_about_an_archived_record_is_refused_and_one_that_is_there_goes_on(site: Site) -> None:
    item = make_item(site)
    action = make_action(site, about=item)
    make.archive(item, reason="Sold.")
    api = api_of(site, STANDARD)
    answer = api.post("/action/AddAction", body(site, RecordId=str(item.pk)))
    assert (answer.status_code, answer.json()["Error"]) == (409, "InvalidTransition")
    assert put(api, action, Name="Other", RecordId=str(item.pk)).status_code == 200
    assert put(api, action, RecordStatus="Done", Result="Done it.").status_code == 200


@pytest.mark.parametrize("owner", ["elsewhere", "nobody"])
def test_the_owner_holds_a_role_at_the_site(site: Site, other_site: Site, owner: str) -> None:
    key = make.make_user(site=other_site, role=MANAGER).pk if owner == "elsewhere" else uuid.uuid4()
    api = api_of(site, STANDARD)
    answer = api.post("/action/AddAction", {**body(site), "OwnerId": str(key)})
    assert (answer.status_code, answer.json()["Message"]) == (400, "OwnerId: No such user at this site.")
    action = make_action(site)
    assert put(api, action, OwnerId=str(key)).status_code == 400


def test_a_new_action_is_open(site: Site) -> None:
    api = api_of(site, MANAGER)
    assert api.post("/action/AddAction", body(site, RecordStatus="Open")).status_code == 200
    assert api.post("/action/AddAction", body(site, RecordStatus="Closed")).status_code == 409
    assert api.post("/action/AddAction", body(site, Effective=True)).status_code == 400
    assert Action.objects.count() == 1


def test_the_way_from_open_to_closed_is_written_down_step_by_step(site: Site) -> None:
    standard, manager = api_of(site, STANDARD), api_of(site, MANAGER)
    action = make_action(site)
    assert put(standard, action, RecordStatus="Done").json()["Fields"][0]["Field"] == "Result"
    assert put(standard, action, RecordStatus="Done", Result="New crates.").status_code == 200
    assert put(manager, action, RecordStatus="Closed").json()["Fields"][0]["Field"] == "Effective"
    assert put(manager, action, RecordStatus="Closed", Effective=False).status_code == 200
    shape = standard.get(f"/action/GetAction/{action.pk}").json()
    judge = str(user_of(manager).pk)
    assert (shape["RecordStatus"], shape["Effective"]) == ("Closed", False)
    assert (shape["VerifiedBy"], shape["ClosedBy"]) == (judge, judge)
    assert shape["ClosedDate"]
    assert put(manager, action, RecordStatus="Open").json()["Fields"][0]["Field"] == "ReasonForChange"
    assert put(manager, action, RecordStatus="Open", ReasonForChange="It came back.").status_code == 200
    shape = standard.get(f"/action/GetAction/{action.pk}").json()
    assert [shape[name] for name in ("VerifiedBy", "ClosedBy", "ClosedDate", "Effective")] == [None] * 4
    assert (shape["RecordStatus"], shape["Result"]) == ("Open", "New crates.")
    changes = list(Change.objects.filter(record_id=action.pk).order_by("number").values_list("operation", "reason"))
    assert changes == [
        ("AddAction", ""),
        ("UpdateAction", ""),
        ("UpdateAction", ""),
        ("UpdateAction", "It came back."),
    ]


def test_nobody_closes_what_they_own_or_marked_as_done(site: Site) -> None:
    manager = api_of(site, MANAGER)
    own_action = make_action(site, owner=user_of(manager))
    move(own_action, Status.DONE, make.make_user(site=site, role=STANDARD))
    marked_action = make_action(site)
    assert put(manager, marked_action, RecordStatus="Done", Result="Done it.").status_code == 200
    for action in (own_action, marked_action):
        answer = put(manager, action, RecordStatus="Closed", Effective=True)
        assert (answer.status_code, answer.json()["Error"]) == (409, "InvalidTransition")
    another = api_of(site, MANAGER)
    assert put(another, own_action, RecordStatus="Closed", Effective=True).status_code == 200


def test_what_is_done_changes_hands_no_more_so_that_nobody_judges_themselves(site: Site) -> None:
    manager = api_of(site, MANAGER)
    action = make_action(site, owner=user_of(manager))
    put(manager, action, RecordStatus="Done", Result="Done it.")
    other = make.make_user(site=site, role=READER)
    for fields in ({"OwnerId": str(other.pk)}, {"Result": "Better."}, {"Name": "Other"}, {"DueDate": "2040-01-01"}):
        assert put(manager, action, **fields).status_code == 409, fields
        assert put(manager, action, RecordStatus="Closed", Effective=True, **fields).status_code == 409, fields
    assert put(manager, action, RecordStatus="Open", ReasonForChange="Not yet.").status_code == 200


@pytest.mark.parametrize("role", [READER, STANDARD])
def test_only_managers_close_send_back_cancel_and_reopen(site: Site, role: DefaultRole) -> None:
    api = api_of(site, role)
    action = make_action(site, owner=user_of(api))
    manager, other = (make.make_user(site=site, role=MANAGER) for _ in range(2))
    assert put(api, action, RecordStatus="Cancelled", ReasonForChange="No.").status_code == 409
    move(action, Status.DONE, other)
    for to in ("Closed", "Open", "Cancelled"):
        answer = put(api, action, RecordStatus=to, Effective=True if to == "Closed" else None, ReasonForChange="No.")
        assert (answer.status_code, answer.json()["Error"]) == (409, "InvalidTransition"), to
    move(action, Status.CLOSED, manager, effective=True)
    assert put(api, action, RecordStatus="Open", ReasonForChange="No.").status_code == 409


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ([], "Closed"),
        ([Status.DONE, Status.CLOSED], "Done"),
        ([Status.DONE, Status.CLOSED], "Cancelled"),
        ([Status.CANCELLED], "Open"),
        ([Status.CANCELLED], "Done"),
        ([Status.CANCELLED], "Closed"),
    ],
)
def test_a_step_that_the_status_does_not_know_is_refused(site: Site, first: list[Status], then: str) -> None:
    action = make_action(site)
    for status in first:
        more: dict[str, Any] = {"effective": True} if status == Status.CLOSED else {}
        move(action, status, make.make_user(site=site, role=MANAGER), **more)
    before = Change.objects.filter(record_id=action.pk).count()
    fields = {"Effective": True} if then == "Closed" else {}
    answer = put(api_of(site, MANAGER), action, RecordStatus=then, Result="x", ReasonForChange="x", **fields)
    assert (answer.status_code, answer.json()["Error"]) == (409, "InvalidTransition")
    assert Change.objects.filter(record_id=action.pk).count() == before


@pytest.mark.django_db(transaction=True)
def test_of_several_who_judge_at_once_the_judgement_of_one_stays(site: Site) -> None:
    judges = {make.make_user(site=site, role=MANAGER): effective for effective in (True, False, True, False)}
    action = move(make_action(site), Status.DONE, make.make_user(site=site, role=STANDARD))
    steps = (partial(move, action, Status.CLOSED, by, effective=effective) for by, effective in judges.items())
    results = make.at_once(*steps)
    action.refresh_from_db()
    assert action.closed_by is not None
    assert action.effective is judges[action.closed_by]
    are_errors = [isinstance(one, ValidationError) for one in results]
    assert are_errors == [effective is not action.effective for effective in judges.values()]
    assert Change.objects.filter(record_id=action.pk).count() == 3


def test_an_owner_of_any_role_answers_their_own_and_changes_nothing_else(site: Site) -> None:
    api = api_of(site, READER)
    own, foreign = make_action(site, owner=user_of(api)), make_action(site)
    assert put(api, foreign, RecordStatus="Done", Result="Done it.").status_code == 403
    assert put(api, own, Name="Something easier").status_code == 403
    assert put(api, own, DueDate="2040-01-01", RecordStatus="Done", Result="x").status_code == 403
    assert put(api, own, Result="Half of it is done.").status_code == 200
    shape = api.get(f"/action/GetAction/{own.pk}").json()
    assert put(api, own, **{**shape, "RecordStatus": "Done"}).status_code == 200
    assert api.get(f"/action/GetAction/{own.pk}").json()["RecordStatus"] == "Done"
    assert api.post("/action/AddAction", body(site)).status_code == 403


def test_an_archived_action_is_changed_through_no_door(site: Site) -> None:
    api = api_of(site, MANAGER)
    action = make_action(site)
    make.archive(action, reason="Twice.")
    shape = api.get(f"/action/GetAction/{action.pk}").json()
    assert put(api, action, **shape).status_code == 200
    for fields in ({"Name": "Other"}, {"RecordStatus": "Done", "Result": "x"}):
        answer = put(api, action, **fields)
        assert (answer.status_code, answer.json()["Error"]) == (409, "InvalidTransition")
        assert "archived" in answer.json()["Message"]


def test_actions_are_listed_by_owner_record_status_and_day(site: Site) -> None:
    api = api_of(site, READER)
    item, owner = make_item(site), make.make_user(site=site, role=READER)
    first = make_action(site, about=item, owner=owner)
    second = make_action(site, due_date=make_action(site).due_date.replace(year=2020))
    move(first, Status.DONE, owner)

    def ids(query: dict[str, str]) -> list[str]:
        return [row["Id"] for row in api.get("/action/GetActionList", query).json()]

    assert ids({"ownerId": str(owner.pk)}) == [str(first.pk)]
    assert ids({"recordId": str(item.pk)}) == [str(first.pk)]
    assert ids({"recordStatus": "done"}) == [str(first.pk)]
    assert ids({"dueBefore": "2021-01-01"}) == [str(second.pk)]
    assert len(ids({"dueBefore": "2031-05-01"})) == 1
    assert len(ids({"dueBefore": "2031-05-01T00:00:00.001Z"})) == 3
