"""The back-office pages of actions: made from a record or alone, taken step by step, shown where they come from."""

import datetime
from typing import Any

import pytest
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.actions import actions
from records.actions.models import Action, Status
from records.actions.workflow import Mover
from records.sites.about import pointer_to
from records.sites.models import Site
from tests import make
from tests.make.actions import everything, make_action, move
from tests.make.audits import make_audit, make_program
from tests.make.backoffice import address, browser, form_of, list_address, press, save
from tests.make.complaints import make_complaint
from tests.make.documents import make_document
from tests.make.items import make_item
from tests.make.pdfs import texts_of

READER, STANDARD, MANAGER = DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER
ADD = "/admin/actions/action/add/"


def step(client: Any, action: Action, name: str, **data: Any) -> Any:
    """Send the form of a step."""
    return press(client, reverse("admin:actions_action_step", args=(action.pk, name)), data)


def steps_on(client: Any, action: Action) -> list[str]:
    """Return the names of the steps that the action's page offers."""
    page = client.get(address(action))
    assert page.status_code == 200
    return [entry["name"] for entry in page.context["record_steps"]]


def add(client: Any, query: str = "", **changes: Any) -> Any:
    """Fill in the form for a new action and send it."""
    data = form_of(client.get(ADD + query))
    return client.post(ADD, {**data, "name": "Train line 2", "due_date": "2031-05-01", **changes})


@pytest.mark.parametrize("make_record", [make_complaint, make_document, make_item])
def test_an_action_is_made_from_a_record_and_shown_on_it(site: Site, make_record: Any) -> None:
    client, record = browser(site, MANAGER), make_record(site)
    page = client.get(address(record)).content.decode()
    assert "No action has been agreed yet." in page
    assert f'name="about" value="{pointer_to(record)}"' in page
    assert str(record) in client.get(f"{ADD}?about={pointer_to(record)}").content.decode()
    assert add(client, f"?about={pointer_to(record)}").status_code == 302
    action = Action.objects.get()
    assert (action.entity, action.record_id, action.owner) == (record.ENTITY, record.pk, action.created_by)
    page = client.get(address(record)).content.decode()
    assert "Train line 2" in page
    assert address(action) in page
    assert address(record, "read") in client.get(address(action)).content.decode()


def test_an_action_is_made_from_a_finding_and_alone(site: Site) -> None:
    client, audit = browser(site, MANAGER), make_audit(make_program(site))
    finding = audit.findings.create(question="Are the crates whole?")
    assert "Are the crates whole?" in client.get(address(audit)).content.decode()
    assert add(client, f"?about={pointer_to(audit)}&finding={finding.pk}").status_code == 302
    assert Action.objects.get().finding_id == finding.pk
    assert "Are the crates whole?" in client.get(address(Action.objects.get())).content.decode()
    assert add(client, name="Alone").status_code == 302
    assert Action.objects.get(name="Alone").record_id is None


def test_a_record_that_is_archived_or_elsewhere_takes_no_action_and_the_input_stays(
    site: Site, other_site: Site
) -> None:
    client = browser(site, MANAGER)
    archived = make_item(site)
    make.archive(archived, reason="Sold.")
    for record in (archived, make_item(other_site)):
        answer = add(client, f"?about={pointer_to(record)}")
        assert answer.status_code == 200
        assert "Train line 2" in answer.content.decode()
        assert answer.context["errors"]
    assert (
        str(make_item(other_site))
        not in client.get(f"{ADD}?about={pointer_to(make_item(other_site))}").content.decode()
    )
    assert not Action.objects.exists()


def test_the_owner_marks_it_done_and_another_manager_closes_it(site: Site) -> None:
    owner, manager = make.make_user(site=site, role=READER), make.make_user(site=site, role=MANAGER)
    action = make_action(site, owner=owner)
    owner_browser, manager_browser = browser(site, user=owner), browser(site, user=manager)
    assert steps_on(owner_browser, action) == ["done"]
    assert step(owner_browser, action, "done", result=" ").status_code == 200
    assert step(owner_browser, action, "done", result="New crates.").status_code == 302
    assert steps_on(owner_browser, action) == []
    assert steps_on(manager_browser, action) == ["close", "send-back", "cancel", "archive"]
    assert step(manager_browser, action, "send-back", change_reason="Which?").status_code == 302
    assert step(owner_browser, action, "done", result="Grey crates.").status_code == 302
    assert step(manager_browser, action, "close").status_code == 200
    assert step(manager_browser, action, "close", effective="no").status_code == 302
    action.refresh_from_db()
    assert (action.record_status, action.effective, action.closed_by) == (Status.CLOSED, False, manager)
    assert steps_on(manager_browser, action) == ["reopen", "archive"]
    assert step(manager_browser, action, "reopen", change_reason="It came back.").status_code == 302
    action.refresh_from_db()
    assert (action.record_status, action.effective, action.closed_by) == (Status.OPEN, None, None)


def test_the_owner_s_start_page_says_which_actions_came_back(site: Site) -> None:
    owner, manager = make.make_user(site=site, role=STANDARD), make.make_user(site=site, role=MANAGER)
    new, renamed_action = (make_action(site, owner=owner) for _ in range(2))
    save(browser(site, user=owner), renamed_action, name="Better", change_reason="Clearer.")
    back, again = (move(make_action(site, owner=owner), Status.DONE, owner) for _ in range(2))
    move(back, Status.OPEN, manager)
    move(move(again, Status.CLOSED, manager, effective=True), Status.OPEN, manager)
    sections = {section.key: section for section in browser(site, user=owner).get("/admin/").context["waiting"]}
    tasks = {row.name: row.task for row in sections["actions"].rows}
    came_back = {name for name, task in tasks.items() if task.startswith("It came back: read why on its page")}
    assert came_back == {back.name, again.name}
    assert set(tasks) - came_back == {new.name, "Better"}


def test_page_and_paper_say_who_marked_it_as_done_and_when_until_it_is_sent_back(site: Site) -> None:
    Site.objects.filter(pk=site.pk).update(time_zone="Asia/Tokyo")
    owner, helper = make.make_user(site=site, role=READER), make.make_user("otto-h", site=site, role=STANDARD)
    action, manager = move(make_action(site, owner=owner), Status.DONE, helper), browser(site, MANAGER)
    Action.objects.filter(pk=action.pk).update(done_date=datetime.datetime(2026, 5, 1, 20, 30, tzinfo=datetime.UTC))

    def texts() -> list[str]:
        page = manager.get(address(action, "read")).content.decode()
        return [page, " ".join(texts_of(manager.get(reverse("admin:print", args=("action", action.pk))).content))]

    for text in texts():
        assert str(helper) in text
        assert "2026-05-02 05:30" in text
    move(action, Status.CLOSED, make.make_user(site=site, role=MANAGER), effective=True)
    assert all("2026-05-02 05:30" in text for text in texts())
    move(action, Status.OPEN, make.make_user(site=site, role=MANAGER), reason="Again")
    assert not any("2026-05-02 05:30" in text for text in texts())


def test_nobody_is_offered_to_close_their_own_or_what_they_marked_as_done(site: Site) -> None:
    manager = make.make_user(site=site, role=MANAGER)
    own = move(make_action(site, owner=manager), Status.DONE, make.make_user(site=site, role=STANDARD))
    done = move(make_action(site), Status.DONE, manager)
    client = browser(site, user=manager)
    for action in (own, done):
        assert "close" not in steps_on(client, action)
        assert step(client, action, "close", effective="yes").status_code == 403
        action.refresh_from_db()
        assert action.record_status == Status.DONE


def test_others_of_low_roles_see_an_action_and_take_no_step(site: Site, other_site: Site) -> None:
    action = make_action(site)
    client = browser(site, READER)
    assert steps_on(client, action) == []
    assert step(client, action, "done", result="x").status_code == 403
    assert client.get(ADD).status_code == 403
    assert browser(other_site, MANAGER).get(address(action)).status_code == 404


def test_facts_are_changed_while_an_action_is_open(site: Site) -> None:
    client, action = browser(site, STANDARD), make_action(site)
    assert save(client, action, name="Better", change_reason="Clearer.").status_code == 302
    action.refresh_from_db()
    assert action.name == "Better"
    form = form_of(client.get(address(action)))
    move(action, Status.DONE, make.make_user(site=site, role=STANDARD))
    # The form was open when somebody marked the action as done: it is shown again, and nothing is stored.
    data = {**form, "name": "Other", "change_reason": "Clearer still."}
    assert client.post(address(action), data).status_code == 200
    action.refresh_from_db()
    assert action.name == "Better"


def test_the_list_shows_what_is_overdue_and_what_is_mine(site: Site) -> None:
    user = make.make_user(site=site, role=STANDARD)
    overdue_action = make_action(site, name="Late one", due_date=make_action(site).due_date.replace(year=2020))
    cancelled_action = make_action(site, name="Late and done", due_date=overdue_action.due_date)
    move(cancelled_action, Status.CANCELLED, user)
    make_action(site, name="My own", owner=user)
    client = browser(site, user=user)
    overdue = client.get(list_address(Action) + "?due=overdue").content.decode()
    assert "Late one" in overdue
    assert "Late and done" not in overdue
    assert 'class="tag overdue"' in overdue
    mine = client.get(list_address(Action) + "?mine=yes").content.decode()
    assert "My own" in mine
    assert "Late one" not in mine


def test_the_owner_of_any_role_reads_on_the_page_why_an_action_came_back(site: Site) -> None:
    owner, manager = make.make_user(site=site, role=READER), make.make_user(site=site, role=MANAGER)
    action = make_action(site, owner=owner)
    client = browser(site, user=owner)
    assert "Sent back" not in client.get(address(action, "read")).text
    move(action, Status.DONE, owner)
    move(action, Status.OPEN, manager, reason="Two crates are still in use.")
    text = client.get(address(action, "read")).text
    assert f"Sent back by {manager.printed_name}" in text
    assert "Two crates are still in use." in text
    for number in range(25):
        update = {"description": f"{number} grey ones."}
        actions.update_action(site.pk, action.pk, update, mover=Mover(make.author_of(manager), everything, "Clearer"))
    assert "Two crates are still in use." in client.get(address(action, "read")).text
    move(action, Status.DONE, owner)
    assert "Sent back" not in client.get(address(action, "read")).text
    move(action, Status.CANCELLED, manager, reason="The line is sold.")
    assert "The line is sold." in client.get(address(action, "read")).text


def test_an_owner_who_may_not_see_the_record_is_told_that_there_is_one_without_its_name(site: Site) -> None:
    owner = make.make_user(site=site)
    make.make_role(site, ["actions.view_action"], [owner])
    complaint = make_complaint(site)
    about, alone = (make_action(site, owner=owner, about=record) for record in (complaint, None))
    client = browser(site, user=owner)
    page = client.get(address(about, "read")).text
    assert "a record that you may not see" in page
    assert str(complaint) not in page
    assert "a record that you may not see" not in client.get(address(alone, "read")).text
