"""Legal holds: set by Managers, lifted by Site Administrators, told by the history, and obeyed by erasing."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.complaints.erasure import erase_consumer
from records.complaints.models import Complaint
from records.history.models import Change
from records.history.verification import verify
from records.retention.actions import held_since, lift_hold, set_hold
from records.sites.models import Site
from records.sites.writing import RecordNotFoundError
from tests import make
from tests.make.backoffice import address, browser
from tests.make.complaints import make_complaint

REFUSED = "This complaint is on legal hold, so nothing of it may be erased. A Site Administrator can lift the hold."


@pytest.fixture
def complaint(site: Site) -> Complaint:
    """Return a complaint of a consumer."""
    return make_complaint(site, consumer_last_name="Przybylski")


def hold_address(record: Any, name: str) -> str:
    """Return the address of the page that sets or lifts a hold."""
    return reverse("admin:retention_hold", args=(name, record.ENTITY.value, record.pk))


def hold(client: Client, record: Any, name: str, reason: str = "Court case 12") -> Any:
    """Set or lift a record's hold."""
    return client.post(hold_address(record, name), {"change_reason": reason})


def erase(client: Client, record: Complaint, reason: str = "Asked by letter") -> Any:
    """Press the button that erases a consumer."""
    url = reverse("admin:complaints_complaint_step", args=(record.pk, "erase-consumer"))
    return client.post(url, {"change_reason": reason})


def name_of(complaint: Complaint) -> str:
    """Return the consumer's name as it is stored now."""
    complaint.refresh_from_db()
    return complaint.consumer_last_name


def test_a_manager_sets_a_hold_and_a_site_administrator_lifts_it(site: Site, complaint: Complaint) -> None:
    manager, administrator = browser(site), browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert hold(manager, complaint, "set", reason=" ").status_code == 200
    assert held_since(complaint) is None
    assert hold(manager, complaint, "set").status_code == 302
    page = manager.get(address(complaint, "read")).text
    assert "On legal hold since" in page
    assert hold_address(complaint, "set") not in page
    assert hold_address(complaint, "lift") not in page
    assert hold(manager, complaint, "lift").status_code == 403
    assert hold_address(complaint, "lift") in administrator.get(address(complaint, "read")).text
    assert hold(administrator, complaint, "lift", reason="Case closed").status_code == 302
    assert "On legal hold" not in administrator.get(address(complaint, "read")).text
    told = Change.objects.filter(record_id=complaint.pk, operation__endswith="LegalHold").order_by("number")
    assert [(one.operation, one.reason) for one in told] == [
        ("SetLegalHold", "Court case 12"),
        ("LiftLegalHold", "Case closed"),
    ]
    assert "Legal hold" in manager.get(address(complaint, "history")).text
    assert not verify().faults


def test_standard_users_see_a_hold_and_cannot_set_one(site: Site, complaint: Complaint) -> None:
    client = browser(site, DefaultRole.STANDARD)
    assert hold_address(complaint, "set") not in client.get(address(complaint, "read")).text
    assert hold(client, complaint, "set").status_code == 403
    set_hold(Complaint, site.pk, complaint.pk, author=make.SYSTEM, reason="Court")
    assert "On legal hold since" in client.get(address(complaint, "read")).text


def test_any_kind_of_record_can_be_held(site: Site) -> None:
    employee = make.make_employee(site)
    client = browser(site)
    assert hold(client, employee, "set").status_code == 302
    assert "On legal hold since" in client.get(address(employee, "read")).text
    assert "On legal hold since" in client.get(address(employee)).text


def test_a_hold_refuses_erasing_through_every_door(site: Site, complaint: Complaint) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    hold(client, complaint, "set")
    before = Change.objects.count()
    with pytest.raises(ValidationError, match="on legal hold"):
        erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked")
    refused = erase(client, complaint)
    assert refused.status_code == 200
    assert REFUSED in refused.text
    shown = client.get(reverse("admin:complaints_complaint_step", args=(complaint.pk, "erase-consumer"))).text
    assert "This complaint is on legal hold." in shown
    assert (name_of(complaint), Change.objects.count()) == ("Przybylski", before)
    hold(client, complaint, "lift")
    assert erase(client, complaint).status_code == 302
    assert name_of(complaint).startswith("erased-")
    assert not verify().faults


def test_only_a_site_administrator_erases_with_a_reason_that_does_not_name_the_consumer(
    site: Site, complaint: Complaint
) -> None:
    assert erase(browser(site), complaint).status_code == 403
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert erase(client, complaint, reason="").status_code == 200
    named = erase(client, complaint, reason="PRZYBYLSKI wrote to us")
    assert "must not say who the consumer is" in named.text
    assert name_of(complaint) == "Przybylski"
    assert erase(client, complaint).status_code == 302
    assert name_of(complaint).startswith("erased-")
    assert client.get(address(complaint, "read")).status_code == 200


def test_repeating_is_refused_and_changes_nothing(site: Site, complaint: Complaint) -> None:
    with pytest.raises(ValidationError, match="not on legal hold"):
        lift_hold(Complaint, site.pk, complaint.pk, author=make.SYSTEM, reason="Over")
    set_hold(Complaint, site.pk, complaint.pk, author=make.SYSTEM, reason="Court")
    before = Change.objects.filter(record_id=complaint.pk).count()
    assert "already on legal hold" in hold(browser(site), complaint, "set").text
    assert Change.objects.filter(record_id=complaint.pk).count() == before


def test_a_record_of_another_site_does_not_exist(site: Site, other_site: Site, complaint: Complaint) -> None:
    stranger = browser(other_site, DefaultRole.SITE_ADMINISTRATOR)
    for name in ("set", "lift"):
        assert stranger.get(hold_address(complaint, name)).status_code == 404
        assert hold(stranger, complaint, name).status_code == 404
    assert erase(stranger, complaint).status_code == 404
    assert browser(site).get(f"/admin/retention/hold/keep/complaint/{complaint.pk}/").status_code == 404
    assert browser(site).get(f"/admin/retention/hold/set/nothing/{complaint.pk}/").status_code == 404
    with pytest.raises(RecordNotFoundError):
        set_hold(Complaint, other_site.pk, complaint.pk, author=make.SYSTEM, reason="Court")
    assert held_since(complaint) is None


def test_a_hold_on_an_archived_record_stays(site: Site, complaint: Complaint) -> None:
    set_hold(Complaint, site.pk, complaint.pk, author=make.SYSTEM, reason="Court")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    archive = reverse("admin:complaints_complaint_step", args=(complaint.pk, "archive"))
    assert client.post(archive, {"change_reason": "Old"}).status_code == 302
    assert REFUSED in erase(client, complaint).text
