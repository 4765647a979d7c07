"""Where saving leads, and what the history calls the records and findings that actions are about."""

from typing import Any

import pytest
from django.contrib import admin
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.actions.models import Action, Status
from records.audits.models import Finding
from records.history.models import Change
from records.items.models import Item
from records.sites.models import Site
from tests import make
from tests.make import audits as make_audits
from tests.make.actions import make_action, move
from tests.make.backoffice import address, browser, form_of, list_address, press, save, sign_in
from tests.make.documents import make_document
from tests.make.items import make_item

pytestmark = pytest.mark.django_db


def test_saving_leads_to_the_record_whether_it_was_added_changed_or_left_as_it_was(site: Site) -> None:
    client = browser(site)
    form = reverse("admin:items_item_add")
    response: Any = client.post(form, {**form_of(client.get(form)), "name": "Oven"})
    item = Item.objects.get(name="Oven")
    assert response.url == address(item, "read")
    assert save(client, item, location="Hall 2", change_reason="Moved").url == address(item, "read")
    assert save(client, item).url == address(item, "read")
    assert "Nothing was changed." in client.get(address(item, "read")).content.decode()
    assert save(client, item, name="Mixer", change_reason="Wrong", _continue="1").url == address(item)
    assert save(client, item, _continue="1").url == address(item)
    assert save(client, item, _addanother="1").url == form


def test_a_message_spells_the_name_of_a_record_as_it_is(site: Site) -> None:
    client = browser(site)
    item = make_item(site, name="pH meter <2>")
    step = reverse("admin:items_item_step", args=(item.pk, "archive"))
    answer: Any = press(client, step, {"change_reason": "Broken"}, follow=True)
    assert '<li class="success">pH meter &lt;2&gt; was archived.</li>' in answer.text


def test_saving_leads_to_the_list_where_the_saved_record_is_hidden_from_the_person(site: Site) -> None:
    clerk = make.make_user(site=site)
    make.make_role(site, ["actions.view_action", "actions.add_action", "documents.view_document"], [clerk])
    pending = make_document(site, user_to_review=[make.make_user(site=site, role=DefaultRole.STANDARD)])
    hidden_action, visible_action = make_action(site, about=pending), make_action(site)
    page: Any = admin.site._registry[Action]
    request = sign_in(clerk, site).get(list_address(Action)).wsgi_request
    assert page.response_post_save_add(request, hidden_action).url == list_address(Action)
    assert page.response_post_save_add(request, visible_action).url == address(visible_action, "read")


def test_the_history_names_the_record_and_the_finding_of_an_action(site: Site) -> None:
    audit = make_audits.start(make_audits.make_audit(make_audits.make_program(site, name="GMP walk")))
    finding = Finding.objects.create(audit_record=audit, idx=0, question="Are the blades whole?")
    action = make_action(site, about=audit, finding_id=finding.pk)
    change = Change.objects.get(record_id=action.pk)
    client = browser(site)
    lone = make.make_user(site=site)
    make.make_role(site, ["actions.view_action", "history.view_change", "documents.view_pending_version"], [lone])
    export: Any = client.get(reverse("admin:actions_action_history_export", args=(action.pk, "csv")))
    texts = [client.get(url).content.decode() for url in (address(action, "history"), address(change))]
    texts.append(b"".join(export.streaming_content).decode())
    for text in texts:
        assert "Audit 1: GMP walk" in text
        assert "Are the blades whole?" in text
        assert str(finding.pk) not in text
    unseen = sign_in(lone, site).get(address(change)).content.decode()
    assert "not shown to you" in unseen
    assert "GMP walk" not in unseen
    finding.delete()
    assert "a finding that was removed" in client.get(address(action, "history")).content.decode()
    unseen = sign_in(lone, site).get(address(change)).content.decode()
    assert "not shown to you" in unseen
    assert "removed" not in unseen


def test_the_history_writes_statuses_in_the_language_of_the_reader(site: Site) -> None:
    action = make_action(site, priority="High")
    move(action, Status.DONE, make.make_user(site=site, role=DefaultRole.MANAGER))
    page = address(action, "history")
    client = browser(site)
    lines = [line for entry in client.get(page).context["changes"] for line in entry["lines"]]
    assert ("Status", "Open", "Done") in [(line["label"], line["old"], line["new"]) for line in lines]
    german = client.get(page, headers={"accept-language": "de"})
    lines = [line for entry in german.context["changes"] for line in entry["lines"]]
    assert ("Status", "Offen", "Erledigt") in [(line["label"], line["old"], line["new"]) for line in lines]
    assert "High" not in [line["new"] for line in lines]
