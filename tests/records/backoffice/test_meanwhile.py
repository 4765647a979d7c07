"""Somebody archives a record, or takes it further, while somebody else writes: what was typed stays on the page."""

import datetime
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.actions.models import Status
from records.complaints import workflow
from records.complaints.models import Complaint
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.make.actions import make_action, move
from tests.make.audits import cancel, make_audit, make_program
from tests.make.backoffice import address, browser, form_of, press, sign_in
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer
from tests.make.documents import make_document
from tests.make.items import make_item

pytestmark = pytest.mark.django_db


def close(record: Any, site: Site) -> None:
    move(record, Status.DONE, make.make_user(site=site, role=DefaultRole.MANAGER))


def complete(record: Any, site: Site) -> None:
    workflow.complete(site.pk, record.pk, author=make.SYSTEM, review_report="Checked.")


def archive(record: Any, site: Site) -> None:
    make.archive(record, reason="Doubled")


FORMS: dict[str, tuple[Callable[[Site], Any], str, Callable[[Any, Site], Any], str]] = {
    "archived item": (make_item, "notes", archive, "This item is archived. Restore it"),
    "archived customer": (make_customer, "note", archive, "This customer is archived. Restore it"),
    "archived document": (make_document, "description", archive, "This document is archived. Restore it"),
    "archived complaint": (make_complaint, "source_details", archive, "This complaint is archived. Restore it"),
    "completed complaint": (make_complaint, "source_details", complete, "is completed; only a Manager can change it"),
    "action that is done": (make_action, "description", close, "It can be changed only while it is Open"),
    "cancelled audit": (
        lambda site: make_audit(make_program(site)),
        "notes",
        lambda one, _site: cancel(one),
        "Cancelled",
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_what_was_typed_stays_and_the_page_says_what_happened(site: Site, name: str) -> None:
    make_record, field, happens, sentence = FORMS[name]
    record = make_record(site)
    client = browser(site, DefaultRole.STANDARD if "complaint" in name or "action" in name else DefaultRole.MANAGER)
    page = client.get(address(record))
    assert page.status_code == 200
    data = {**form_of(page), field: "Written for an hour", "change_reason": "Seen"}
    happens(record, site)
    count = Change.objects.filter(record_id=record.pk).count()
    first = client.post(address(record), data)
    assert first.status_code == 200
    assert "Written for an hour" in first.content.decode()
    assert first.context["conflict"]["changes"]
    again = client.post(address(record), {**form_of(first), "change_reason": "Seen"})
    assert again.status_code == 200
    text = again.content.decode()
    assert "Written for an hour" in text
    assert sentence in text
    assert Change.objects.filter(record_id=record.pk).count() == count


def test_times_of_a_form_mean_what_they_meant_before_the_site_s_time_zone_changed(site: Site) -> None:
    site.time_zone = "Europe/London"
    site.save()
    june = datetime.datetime(2026, 6, 15, 13, 30, tzinfo=datetime.UTC)
    first, second = (make_complaint(site, date=june) for _ in range(2))
    client = browser(site)
    forms = {one: form_of(client.get(address(one))) for one in (first, second)}
    new = form_of(client.get(reverse("admin:complaints_complaint_add")))
    site.time_zone = "America/New_York"
    site.save()
    client.post(address(first), {**forms[first], "trace_number": "L1", "change_reason": "Seen"})
    client.post(address(second), {**forms[second], "date": "2026-06-15 15:00", "change_reason": "Late"})
    client.post(reverse("admin:complaints_complaint_add"), {**new, "date": "2026-06-15 16:00"})
    for one in (first, second):
        one.refresh_from_db()
    assert (first.date, first.trace_number) == (june, "L1")
    assert second.date == june.replace(hour=14, minute=0)
    assert Complaint.objects.get(site_sequence_id=None).date == june.replace(hour=15, minute=0)
    odd = client.post(address(first), {**form_of(client.get(address(first))), "larder_zone": "../x", "notes": ""})
    assert odd.status_code == 302
    first.refresh_from_db()
    assert first.date == june


def test_a_form_of_an_archived_record_is_refused_to_whoever_may_not_change_it(site: Site, other_site: Site) -> None:
    item = make_item(site)
    make.archive(item, reason="Doubled")
    data = {"name": "Oven", "larder_seen": "", "change_reason": "Seen"}
    assert browser(site, DefaultRole.READER).post(address(item), data).status_code == 403
    assert browser(other_site).post(address(item), data).status_code == 404
    assert browser(site).get(address(item)).context["show_save"] is False


def test_the_text_of_a_step_stays_when_somebody_else_was_faster_and_a_step_sent_twice_is_done_once(site: Site) -> None:
    complaint = make_complaint(site)
    url = reverse("admin:complaints_complaint_step", args=(complaint.pk, "complete"))
    ann, bob = (make.make_user(site=site, role=DefaultRole.MANAGER) for _ in range(2))
    form = {"larder_once": str(uuid.uuid4()), "larder_seen": str(Change.objects.get(record_id=complaint.pk).pk)}
    data = {**form, "review_report": "Six lines of thoughts", "change_reason": "Closed"}
    first: Any = sign_in(ann, site)
    assert press(first, url, data).status_code == 302
    again = first.post(url, data)
    assert (again.status_code, again.url) == (302, address(complaint, "read"))
    for person in (bob, ann):
        response = sign_in(person, site).post(url, {**data, "review_report": "Quite other thoughts"})
        assert response.status_code == 200
        text = response.content.decode()
        assert "is no longer possible" in text
        assert "Quite other thoughts" in text
        [change] = response.context["conflict"]["changes"]
        assert change["author"] == str(ann)
        assert "Six lines of thoughts" in text
    complaint.refresh_from_db()
    assert complaint.review_report == "Six lines of thoughts"
    assert Change.objects.filter(record_id=complaint.pk, operation="CompleteComplaint").count() == 1
