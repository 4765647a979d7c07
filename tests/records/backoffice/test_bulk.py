"""Doing one thing to several records: one reason, a Change for each, and each that could not be done named."""

import datetime
import re
import uuid
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from records.accounts.models import DefaultRole, RoleMembership
from records.actions.models import Action, Status
from records.backoffice import bulk
from records.complaints.models import Complaint
from records.history.models import Change
from records.history.trail import now
from records.items.models import Item
from records.sites.models import Entity, Site
from tests import make
from tests.make.actions import make_action, move
from tests.make.backoffice import address, browser, list_address, sign_in
from tests.make.complaints import make_complaint, make_draft
from tests.make.items import make_item

pytestmark = pytest.mark.django_db


def post_step(client: Any, step: str, *records: Any, query: str = "", **more: Any) -> Any:
    options = records[0]._meta
    url = reverse(f"admin:{options.app_label}_{options.model_name}_bulk") + query
    return client.post(url, {"step": step, "_selected_action": [str(record.pk) for record in records], **more})


def confirm(client: Any, step: str, *records: Any, **more: Any) -> str:
    """Confirm the step and return the page that follows: the list, or what was left as it was."""
    answer = post_step(client, step, *records, confirm="yes", **{"change_reason": "Tidied up", **more})
    assert answer.status_code == 302, answer.content.decode()
    return str(client.get(answer.url).content.decode())


def faults_in(page: str) -> list[tuple[str, str, str]]:
    """Return the records that the result page names: name, address and reason."""
    row = r'<tr><th scope="row"><a href="([^"]*)">(.*?)</a></th><td>(.*?)</td></tr>'
    return [(unescape(name), url, unescape(fault)) for url, name, fault in re.findall(row, page)]


def test_several_records_are_archived_with_one_reason_and_a_change_each(site: Site) -> None:
    items = [make_item(site) for _ in range(3)]
    client = browser(site)
    page = post_step(client, "archive", *items, query="?q=x")
    assert "Archive: 3 items" in page.content.decode()
    assert not Item.objects.filter(is_archived=True).exists()
    assert "Archive: 3 of 3 done." in confirm(client, "archive", *items)
    assert Item.objects.filter(is_archived=True).count() == 3
    changes = Change.objects.filter(operation="ArchiveItem")
    assert {(change.record_id, change.reason) for change in changes} == {(item.pk, "Tidied up") for item in items}
    assert "Restore: 3 of 3 done." in confirm(client, "restore", *items)


def test_a_record_that_cannot_be_written_is_named_and_keeps_no_other_back(site: Site) -> None:
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    client = sign_in(manager, site)
    complaint, draft = make_complaint(site), make_draft(site)
    page = confirm(client, "owner", complaint, draft, owner=str(manager.pk))
    assert "Assign to an owner: 1 of 2 done" in page
    assert faults_in(page) == [("Draft complaint", address(draft, "read"), "This field cannot be changed now.")]
    complaint.refresh_from_db()
    draft.refresh_from_db()
    assert (complaint.owner, draft.owner) == (manager, None)
    done_action, open_action = make_action(site), make_action(site)
    move(done_action, Status.DONE, done_action.owner)
    page = confirm(client, "owner", done_action, open_action, owner=str(manager.pk))
    assert "1 of 2 done" in page
    assert faults_in(page) == [(str(done_action), address(done_action, "read"), "You may not change it now.")]
    assert set(Action.objects.filter(owner=manager)) == {open_action}


def test_records_are_moved_to_a_folder_of_the_site_and_out_again(site: Site, other_site: Site) -> None:
    items, folder = [make_item(site), make_item(site)], make.make_folder(site, Entity.ITEM, "Ovens")
    foreign = make.make_folder(other_site, Entity.ITEM, "Elsewhere")
    client = browser(site)
    confirm(client, "entity_folder", *items, entity_folder=str(folder.pk))
    assert set(Item.objects.values_list("entity_folder", flat=True)) == {folder.pk}
    for wrong in (str(foreign.pk), "nonsense", str(make.make_folder(site, Entity.COMPLAINT).pk)):
        answer = post_step(client, "entity_folder", *items, confirm="yes", change_reason="x", entity_folder=wrong)
        assert "Choose one of the entries that are offered." in answer.content.decode()
    confirm(client, "entity_folder", *items, entity_folder="")
    assert set(Item.objects.values_list("entity_folder", flat=True)) == {None}


def test_without_a_reason_or_without_records_nothing_is_written(site: Site) -> None:
    item = make_item(site)
    client = browser(site)
    page = post_step(client, "archive", item, confirm="yes", change_reason=" ")
    assert "This field is required." in page.content.decode()
    url = reverse("admin:items_item_bulk")
    for ids in ([], ["nonsense"], [str(uuid.uuid4())]):
        answer: Any = client.post(url, {"step": "archive", "_selected_action": ids, "confirm": "yes"})
        assert answer.url == list_address(Item)
        assert "Choose at least one of the items first." in client.get(answer.url).content.decode()
    assert client.post(url, {"step": "delete", "_selected_action": [str(item.pk)]}).status_code == 404
    assert follow(client, f"{url}?q=x") == f"{list_address(Item)}?q=x"
    assert follow(client, f"{url}result/") == list_address(Item)
    answer = client.post(list_address(Item), {"index": "0", "action": "bulk", "_selected_action": ["nonsense"]})
    assert answer.status_code == 302
    item.refresh_from_db()
    assert not item.is_archived


def test_only_what_one_may_do_is_offered_and_done(site: Site, other_site: Site) -> None:
    item, foreign = make_item(site), make_item(other_site)
    reader = browser(site, DefaultRole.READER)
    page = reader.get(list_address(Item)).content.decode()
    assert "For the chosen records" not in page
    assert "action-select" not in page
    assert post_step(reader, "archive", item, confirm="yes", change_reason="x").status_code == 403
    client = browser(site)
    assert f'aria-label="Choose {item}"' in client.get(list_address(Item)).content.decode()
    answer: Any = post_step(client, "archive", foreign, confirm="yes", change_reason="x")
    assert answer.status_code == 302
    foreign.refresh_from_db()
    assert not foreign.is_archived
    standard = browser(site, DefaultRole.STANDARD)
    complaint = make_complaint(site)
    assert "1 of 1 done" in confirm(standard, "entity_folder", complaint, entity_folder="")
    assert post_step(standard, "archive", complaint, confirm="yes", change_reason="x").status_code == 403


def test_a_list_of_many_records_with_checkboxes_costs_no_query_a_row(
    site: Site, django_assert_max_num_queries: Any
) -> None:
    client, costs = browser(site), []
    client.get(list_address(Action))
    for _ in range(2):
        for _ in range(3):
            make_action(site, due_date=now() + datetime.timedelta(days=1))
        with django_assert_max_num_queries(40) as queries:
            client.get(list_address(Action))
        costs.append(len(queries))
    assert costs[0] == costs[1]
    assert Complaint.objects.count() == 0


def follow(client: Any, url: str) -> str:
    """Return where the address leads."""
    return str(client.get(url)["Location"])


def post_step_for_all(client: Any, query: str = "", **more: Any) -> Any:
    return client.post(reverse("admin:items_item_bulk") + query, {"step": "archive", "all": "yes", **more})


def seen_in(page: Any) -> str:
    match = re.search(r'name="seen" value="([^"]+)"', page.content.decode())
    return match.group(1) if match else ""


def test_all_records_that_match_are_archived_beyond_one_page(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "MOST_LISTED", 2)
    for name in ("Oven 1", "Oven 2", "Oven 3", "Mixer"):
        make_item(site, name=name)
    client = browser(site)
    page = post_step_for_all(client, "?q=oven&p=2")
    assert "Archive: 3 items" in page.content.decode()
    assert "These are the first 2 of 3." in page.content.decode()
    answer = post_step_for_all(client, "?q=oven&p=2", confirm="yes", change_reason="Sold", seen=seen_in(page))
    assert answer.url == f"{list_address(Item)}?q=oven&p=2"
    assert "Archive: 3 of 3 done." in client.get(answer.url).content.decode()
    assert list(Item.objects.filter(is_archived=False).values_list("name", flat=True)) == ["Mixer"]


def test_records_that_match_only_since_the_page_was_shown_are_not_written_unseen(site: Site) -> None:
    make_item(site, name="Oven 1")
    client = browser(site)
    page = post_step_for_all(client, "?q=oven")
    make_item(site, name="Oven 2")
    data = {"confirm": "yes", "change_reason": "Sold"}
    answer = post_step_for_all(client, "?q=oven", seen=seen_in(page), **data)
    assert answer.status_code == 200
    assert "The items that match are no longer those" in answer.content.decode()
    assert "Oven 2" in answer.content.decode()
    assert not Item.objects.filter(is_archived=True).exists()
    assert post_step_for_all(client, "?q=oven", seen=seen_in(answer), **data).status_code == 302
    assert Item.objects.filter(is_archived=True).count() == 2


def test_too_many_matches_and_filters_that_cannot_be_read_write_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MOST_RECORDS", 2)
    for _ in range(3):
        make_item(site)
    client = browser(site)
    answer = post_step_for_all(client, confirm="yes", change_reason="Sold")
    assert "More than 2 items match. Filter the list first." in client.get(answer.url).content.decode()
    assert post_step_for_all(client, "?archived=maybe", confirm="yes", change_reason="Sold").status_code == 400
    assert not Item.objects.filter(is_archived=True).exists()


def test_a_batch_is_one_transaction_and_the_batches_before_a_failure_stay(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BATCH", 2)
    items = [make_item(site) for _ in range(4)]
    write, records = bulk._write, []

    def fail(step: Any, record: Any, reason: str, value: Any) -> str:
        records.append(record)
        if len(records) == 4:
            raise RuntimeError("The disk is full.")
        return write(step, record, reason, value)

    monkeypatch.setattr(bulk, "_write", fail)
    client = browser(site)
    client.raise_request_exception = False
    assert post_step(client, "archive", *items, confirm="yes", change_reason="Sold").status_code == 500
    assert set(Item.objects.filter(is_archived=True)) == set(items[:2])
    assert Change.objects.filter(operation="ArchiveItem").count() == 2


def test_the_result_is_shown_until_the_list_is_opened_and_to_nobody_else(site: Site) -> None:
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    client = sign_in(manager, site)
    draft = make_draft(site)
    answer: Any = post_step(client, "owner", draft, confirm="yes", change_reason="x", owner=str(manager.pk))
    for _ in range(2):
        assert "0 of 1 done" in client.get(answer.url).content.decode()
    assert follow(client, reverse("admin:items_item_bulk_result")) == list_address(Item)
    client.get(list_address(Complaint))
    assert follow(client, answer.url) == list_address(Complaint)
    assert follow(browser(site), answer.url) == list_address(Complaint)


def test_the_result_names_nothing_that_the_user_does_not_see_any_more(site: Site, other_site: Site) -> None:
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    client = sign_in(manager, site)
    drafts = [make_draft(site), make_draft(site)]
    answer: Any = post_step(client, "owner", *drafts, confirm="yes", change_reason="x", owner=str(manager.pk))
    assert {url for _, url, _ in faults_in(client.get(answer.url).text)} == {address(draft, "read") for draft in drafts}
    Complaint.objects.filter(pk=drafts[0].pk).update(site=other_site)
    page = client.get(answer.url).text
    assert [url for _, url, _ in faults_in(page)] == [address(drafts[1], "read")]
    assert "1 more were left as they were." in page
    assert str(drafts[1]) not in str(dict(client.session))
    RoleMembership.objects.filter(user=manager).delete()
    assert client.get(answer.url).status_code == 403


def test_a_result_that_an_earlier_release_kept_in_the_session_is_not_shown(site: Site) -> None:
    client = browser(site)
    session = client.session
    session["larder_bulk"] = {
        "model": Item._meta.label,
        "title": "Archive: 0 of 1 done",
        "left": [["Oven", "/admin/items/item/", "It is used."]],
        "more": 0,
        "back": list_address(Item),
    }
    session.save()
    assert follow(client, reverse("admin:items_item_bulk_result")) == list_address(Item)
