"""Erasing a consumer: gone from the complaint and its history, told by a Change, and the chain still proves."""

import json
from functools import partial
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import models
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.complaints import actions
from records.complaints.erasure import erase_consumer
from records.complaints.models import Complaint
from records.history.digests import digest
from records.history.models import ChainHead, Change
from records.history.verification import verify
from records.sites.models import Site
from records.sites.writing import RecordNotFoundError
from tests import make
from tests.conftest import Api
from tests.make.backoffice import address, browser, form_of, press
from tests.make.complaints import make_complaint

CONSUMER = {
    "consumer_first_name": "Wilhelmina",
    "consumer_last_name": "Przybylski",
    "consumer_address": "Elm Street 12",
    "consumer_phone": "555-0100",
    "consumer_mobile": "555-0199",
    "consumer_email": "wilhelmina@example.com",
}


@pytest.fixture
def complaint(site: Site) -> Complaint:
    """Return a complaint whose consumer moved, and whose history quotes the name."""
    record = make_complaint(site, complaint_description="A stone", **CONSUMER)
    actions.update_complaint_detail(
        site.pk,
        record.pk,
        {"consumer_address": "Oak Street 3"},
        author=make.SYSTEM,
        may_change_completed=True,
        reason="Mrs PRZYBYLSKI has moved",
    )
    return record


def everything() -> str:
    """Return all that the database holds of complaints and changes."""
    return json.dumps(
        [list(model._base_manager.values()) for model in (Complaint, Change)], default=str, ensure_ascii=False
    ).casefold()


@pytest.mark.parametrize("archived", [False, True])
def test_nothing_of_the_consumer_is_left_and_the_chain_verifies(
    site: Site, complaint: Complaint, archived: bool
) -> None:
    if archived:
        make.archive(complaint, reason="Old")
    hashes = list(Change.objects.values_list("pk", "hash"))
    for value in [*CONSUMER.values(), "Oak Street"]:
        assert value.casefold() in everything()
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked by letter")
    for value in [*CONSUMER.values(), "Oak Street"]:
        assert value.casefold() not in everything()
    assert not verify().faults
    assert set(hashes) < set(Change.objects.values_list("pk", "hash"))
    complaint.refresh_from_db()
    complaint.clean_fields()
    assert complaint.complaint_description == "A stone"
    change = Change.objects.filter(record_id=complaint.pk).latest("number")
    assert (change.operation, change.reason) == ("EraseConsumer", "Asked by letter")


def test_equal_consumers_have_equal_digests_that_only_the_pepper_can_repeat(
    site: Site, complaint: Complaint, settings: Any
) -> None:
    other, later = (make_complaint(site, consumer_last_name="Przybylski") for _ in range(2))
    for one in (complaint, other):
        erase_consumer(site.pk, one.pk, author=make.SYSTEM, reason="Asked")
        one.refresh_from_db()
    assert complaint.consumer_last_name == other.consumer_last_name
    settings.CREDENTIAL_PEPPERS = ["another pepper, of somebody who has the database alone"]
    erase_consumer(site.pk, later.pk, author=make.SYSTEM, reason="Asked")
    later.refresh_from_db()
    assert later.consumer_last_name.startswith("erased-")
    assert later.consumer_last_name != other.consumer_last_name


def test_repeating_it_changes_nothing_and_says_so(site: Site, complaint: Complaint) -> None:
    page = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked")
    before = Change.objects.count()
    with pytest.raises(ValidationError, match="There is nothing to erase"):
        erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked again")
    step = reverse("admin:complaints_complaint_step", args=(complaint.pk, "erase-consumer"))
    answer = press(page, step, {"change_reason": "Asked again"}, follow=True)
    assert "There is nothing to erase" in answer.text
    assert "was erased from" not in answer.text
    assert Change.objects.count() == before
    assert not verify().faults


def test_other_texts_that_say_it_are_named_and_erased_only_if_asked(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    for choice, is_left in (("no", True), ("yes", False)):
        complaint = make_complaint(
            site,
            consumer_last_name="Rose",
            consumer_email="r.rose@mail.example",
            complaint_description="Mrs ROSE rang.",
        )
        for values in (
            {"complaint_description": "The dough rosette."},
            {"source_details": "Mail of r.rose@mail.example"},
        ):
            actions.update_complaint_detail(
                site.pk, complaint.pk, values, author=make.SYSTEM, may_change_completed=True, reason="Told"
            )
        step = reverse("admin:complaints_complaint_step", args=(complaint.pk, "erase-consumer"))
        assert "Other texts that contain these values: Source details, Description" in client.get(step).text
        refusal = press(client, step, {"change_reason": "Asked by letter"})
        assert refusal.status_code == 200
        assert press(client, step, {"change_reason": "Asked by letter", "with_texts": choice}).status_code == 302
        complaint.refresh_from_db()
        assert complaint.complaint_description == "The dough rosette."  # It says “rose” only as a part of another word.
        assert (complaint.source_details == "Mail of r.rose@mail.example") is is_left
        history = client.get(address(complaint, "history")).text
        assert ("Mrs ROSE rang." in history) is is_left
        assert ("r.rose@mail.example" in history) is is_left
        assert not verify().faults


def test_a_name_in_a_script_without_spaces_is_found_in_texts_and_refused_in_the_reason(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    text = "お客様の田中様から電話がありました。"
    complaint = make_complaint(site, consumer_last_name="田中", complaint_description=text)
    values = {"trace_number": "L26-1"}
    actions.update_complaint_detail(
        site.pk, complaint.pk, values, author=make.SYSTEM, may_change_completed=True, reason="田中様の連絡"
    )
    step = reverse("admin:complaints_complaint_step", args=(complaint.pk, "erase-consumer"))
    assert "Other texts that contain these values: Description" in client.get(step).text
    refusal = press(client, step, {"change_reason": "田中様のご希望", "with_texts": "yes"})
    assert "it must not say what is erased" in refusal.text
    complaint.refresh_from_db()
    assert (complaint.consumer_last_name, complaint.complaint_description) == ("田中", text)
    assert press(client, step, {"change_reason": "お客様のご希望", "with_texts": "yes"}).status_code == 302
    assert "田中" not in everything()
    assert not verify().faults


def test_without_such_texts_nothing_is_asked(site: Site, complaint: Complaint) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    step = reverse("admin:complaints_complaint_step", args=(complaint.pk, "erase-consumer"))
    assert "Other texts that contain these values" not in client.get(step).text
    assert press(client, step, {"change_reason": "Asked by letter", "with_texts": ""}).status_code == 302
    complaint.refresh_from_db()
    assert complaint.complaint_description == "A stone"


def test_what_comes_later_can_be_erased_too(site: Site, complaint: Complaint) -> None:
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked")
    actions.update_complaint_detail(
        site.pk, complaint.pk, {"consumer_phone": "555-7777"}, author=make.SYSTEM, may_change_completed=True
    )
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked again")
    assert "555-7777" not in everything()
    assert not verify().faults


def test_a_change_of_the_first_version_is_erased_and_proven_by_the_erasure(site: Site, complaint: Complaint) -> None:
    previous = ""
    rows: models.QuerySet[Change] = models.QuerySet(Change)
    for change in rows.filter(chain=site.pk).order_by("number"):
        change.digest_version, change.salts, change.previous_hash = 1, [], previous
        previous = digest(change)
        rows.filter(pk=change.pk).update(digest_version=1, salts=[], previous_hash=change.previous_hash, hash=previous)
    ChainHead.objects.filter(chain=site.pk).update(hash=previous)
    assert not verify().faults
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked")
    assert "przybylski" not in everything()
    assert not verify().faults
    first = rows.filter(record_id=complaint.pk).earliest("number")
    rows.filter(pk=first.pk).update(author_name="Forged")
    assert [fault.text for fault in verify().faults] == [
        f"change {first.number} was altered: its hash is not that of its content"
    ]


def test_the_place_of_an_erased_value_cannot_be_filled_unnoticed(site: Site, complaint: Complaint) -> None:
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked")
    first: Any = models.QuerySet(Change).filter(record_id=complaint.pk).earliest("number")
    for entry in first.fields:
        if entry["field"] == "consumer_last_name":
            entry["new"] = "Somebody else"
    models.QuerySet(Change).filter(pk=first.pk).update(fields=first.fields)
    assert [fault.number for fault in verify().faults] == [first.number]


def test_it_needs_a_reason_and_a_complaint_of_the_site(site: Site, other_site: Site, complaint: Complaint) -> None:
    with pytest.raises(ValidationError):
        erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason=" ")
    with pytest.raises(RecordNotFoundError):
        erase_consumer(other_site.pk, complaint.pk, author=make.SYSTEM, reason="Asked")
    assert Complaint.objects.get(pk=complaint.pk).consumer_last_name == "Przybylski"


def test_the_pages_of_the_history_show_that_a_value_was_erased(site: Site, complaint: Complaint, client: Any) -> None:
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked")
    client.force_login(make.make_user("root", is_superuser=True))
    for change in Change.objects.filter(record_id=complaint.pk):
        page = client.get(f"/admin/history/change/{change.pk}/change/")
        assert page.status_code == 200
    page = client.get(f"/admin/complaints/complaint/{complaint.pk}/history/")
    assert page.status_code == 200
    assert "Erased" in page.text


def test_a_form_that_was_open_during_the_erasure_does_not_bring_the_consumer_back(
    site: Site, complaint: Complaint
) -> None:
    client = browser(site)
    form = form_of(client.get(address(complaint)))
    assert form["consumer_last_name"] == ["Przybylski"]
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked by letter")
    answer = client.post(address(complaint), {**form, "trace_number": "L26-1", "change_reason": "The lot is known"})
    assert answer.status_code == 200
    again = form_of(answer)
    assert "przybylski" not in str(again).casefold()
    assert client.post(address(complaint), {**again, "change_reason": "The lot is known"}).status_code == 302
    assert "przybylski" not in everything()
    complaint.refresh_from_db()
    assert complaint.trace_number == "L26-1"
    assert not verify().faults


def test_a_client_that_read_before_the_erasure_and_writes_after_it_is_told(site: Site, complaint: Complaint) -> None:
    api = Api(make.make_key(site, DefaultRole.MANAGER))
    read = api.get(f"/complaint/GetComplaint/{complaint.pk}")
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked by letter")
    body = {**read.json(), "ReasonForChange": "Nightly run"}
    answer = api.send("PUT", f"/complaint/UpdateComplaintDetail/{complaint.pk}", body, **{"If-Match": read["ETag"]})
    assert (answer.status_code, answer.json()["Error"]) == (412, "PreconditionFailed")
    assert "przybylski" not in everything()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("values", [{"trace_number": "L26-1"}, {"consumer_phone": "555-7777"}], ids=["lot", "phone"])
def test_an_erasure_and_a_change_that_meet_leave_one_of_two_orders(values: dict[str, str]) -> None:
    """Nothing that was stored before is left in either order; what the change wrote stays if it came second."""
    site = make.make_site()
    for _ in range(4):
        complaint = make_complaint(site, **CONSUMER)
        results = make.at_once(
            partial(erase_consumer, site.pk, complaint.pk, author=make.SYSTEM, reason="Asked by letter"),
            partial(
                actions.update_complaint_detail,
                site.pk,
                complaint.pk,
                values,
                author=make.SYSTEM,
                may_change_completed=True,
                reason="News",
            ),
        )
        assert [type(one) for one in results] == [Complaint, Complaint]
        contents = everything()
        assert [value for value in CONSUMER.values() if value.casefold() in contents] == []
        changes = Change.objects.filter(record_id=complaint.pk).order_by("number").values_list("operation", flat=True)
        assert sorted(changes) == ["AddComplaintDetail", "EraseConsumer", "UpdateComplaintDetail"]
        complaint.refresh_from_db()
        for name, value in values.items():
            is_erased = name in CONSUMER and changes.last() == "EraseConsumer"
            assert (getattr(complaint, name) == value) is not is_erased
    assert not verify().faults
