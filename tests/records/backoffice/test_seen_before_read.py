"""What somebody changes while a page is being prepared counts as not seen, so that its form overwrites nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.backoffice.permissions import SitePermissions
from records.complaints.actions import update_complaint_detail
from records.complaints.models import Complaint
from records.history.models import Change
from records.items.actions import update_item
from records.sites.models import Site
from tests import make
from tests.make.backoffice import address, browser, form_of
from tests.make.complaints import make_complaint
from tests.make.items import make_item

pytestmark = pytest.mark.django_db

During = Callable[[Callable[[], Any]], None]


@pytest.fixture
def just_after_reading(monkeypatch: pytest.MonkeyPatch) -> During:
    """Return a function that lets something happen once, directly after a page has read its record."""
    waiting: list[Callable[[], Any]] = []
    read = SitePermissions.get_object

    def reading(*args: Any, **also: Any) -> Any:
        record = read(*args, **also)
        while waiting:
            waiting.pop()()
        return record

    monkeypatch.setattr(SitePermissions, "get_object", reading)
    return waiting.append


def save(client: Any, url: str, data: dict[str, Any]) -> int:
    """Send a form, and what the page then shows, until it is saved; return how often the page was shown."""
    for count in range(4):
        page = client.post(url, data)
        if page.status_code == 302:
            return count
        data = {**form_of(page), "change_reason": "Seen"}
    raise AssertionError(page.text)


@pytest.mark.parametrize("when", ["shown", "sent"])
def test_a_form_keeps_what_was_changed_while_its_page_was_prepared(
    site: Site, just_after_reading: During, when: str
) -> None:
    item = make_item(site, name="Oven", notes="Old")
    client, url = browser(site), address(item)

    def others_write(**values: Any) -> None:
        update_item(site.pk, item.pk, values, author=make.SYSTEM)

    if when == "shown":
        just_after_reading(lambda: others_write(notes="Theirs"))
    page = client.get(url)
    assert form_of(page)["notes"] == ["Old"]
    if when == "sent":
        others_write(serial_number="7")
        just_after_reading(lambda: others_write(notes="Theirs"))
    assert save(client, url, {**form_of(page), "name": "Oven 2", "change_reason": "Second one"}) >= 1
    item.refresh_from_db()
    assert (item.name, item.notes) == ("Oven 2", "Theirs")


def test_a_step_keeps_what_was_changed_while_its_page_was_prepared(site: Site, just_after_reading: During) -> None:
    complaint, owner = make_complaint(site, severity="Minor"), make.make_user(site=site, role=DefaultRole.STANDARD)
    url = reverse("admin:complaints_complaint_step", args=(complaint.pk, "triage"))
    client = browser(site, DefaultRole.STANDARD)
    values = {"severity": "Critical"}
    just_after_reading(
        lambda: update_complaint_detail(
            site.pk, complaint.pk, values, may_change_completed=False, author=make.SYSTEM, reason="Glass"
        )
    )
    form = form_of(client.get(url))
    assert form["severity"] == ["Minor"]
    answer = client.post(url, {**form, "owner": str(owner.pk), "target_date": "2031-05-01"})
    assert (answer.status_code, form_of(answer)["severity"]) == (200, ["Critical"])
    assert client.post(url, form_of(answer)).status_code == 302
    assert Complaint.objects.values_list("severity", "owner_id").get() == ("Critical", owner.pk)


def test_a_value_is_put_back_only_over_the_value_that_its_page_showed(site: Site, just_after_reading: During) -> None:
    item = make_item(site, notes="First")
    update_item(site.pk, item.pk, {"notes": "Second"}, author=make.SYSTEM)
    change = Change.objects.filter(record_id=item.pk).latest("number")
    url = reverse("admin:items_item_put_back", args=(item.pk, change.pk, "notes"))
    just_after_reading(lambda: update_item(site.pk, item.pk, {"notes": "Third"}, author=make.SYSTEM))
    client = browser(site)
    page = client.get(url)
    assert "Second" in page.text
    answer = client.post(url, {"larder_seen": page.context["seen"], "change_reason": "Right after all"})
    assert answer.status_code == 200
    assert "Third" in answer.text
    item.refresh_from_db()
    assert item.notes == "Third"
