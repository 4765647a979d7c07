"""A complaint written on a phone, with photos, over a connection that breaks."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from PIL import Image
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole
from records.attachments.models import Attachment
from records.complaints.models import Complaint
from tests import make
from tests.browser.test_looks import faults_at, with_axe
from tests.browser.test_typed_text import sign_in_on
from tests.browser.waiting import choose, go_online
from tests.make.complaints import required_of

pytestmark = pytest.mark.django_db(transaction=True)

PageOf = Callable[..., Page]
QUICK = reverse("admin:quick_complaint")


def photo(name: str) -> Any:
    out = io.BytesIO()
    Image.new("RGB", (80, 60), "red").save(out, "JPEG")
    return {"name": name, "mimeType": "image/jpeg", "buffer": out.getvalue()}


def test_a_complaint_with_photos_is_sent_from_a_phone_over_a_connection_that_breaks(site: Any, page_of: PageOf) -> None:
    required = required_of(site)
    page = page_of(make.make_user(site=site, role=DefaultRole.STANDARD), site, "phone")
    page.goto("/admin/")
    page.get_by_role("link", name="Quick complaint").first.click()
    page.get_by_label("What happened").fill("Metal in the loaf")
    choose(page, "Product", required["product"].name)
    choose(page, "Customer", required["customer"].name)
    choose(page, "Kind of fault", required["nonconformance"].name)
    page.set_input_files("#quick-camera", photo("one.jpg"))
    page.set_input_files("#quick-camera", photo("two.jpg"))
    page.set_input_files("#quick-photos", [photo("three.jpg"), photo("four.jpg")])
    page.get_by_role("button", name="Remove four.jpg").click()
    page.context.set_offline(True)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("The connection was lost. Nothing is lost: press Send again.")).to_be_visible()
    go_online(page)
    page.route("**/attachments/on/**", lambda route: route.abort())
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("three.jpg: The connection was lost. Try again.")).to_be_visible()
    assert Complaint.objects.count() == 1
    page.unroute("**/attachments/on/**")
    page.get_by_role("button", name="Send the photos again").click()
    expect(page.get_by_text("was sent and awaits its review")).to_be_visible()
    assert Complaint.objects.get().record_status == "Awaiting Review"
    assert set(Attachment.objects.values_list("file_name", flat=True)) == {"one.jpg", "two.jpg", "three.jpg"}
    page.goto(QUICK)
    expect(page.get_by_label("What happened")).to_be_visible()
    expect(page.get_by_text("You typed something here that was not saved")).to_have_count(0)


def test_text_and_photos_of_a_lost_session_are_sent_once_somebody_signed_in_in_another_tab(
    site: Any, page_of: PageOf
) -> None:
    clerk = make.make_user(site=site, role=DefaultRole.STANDARD)
    page = page_of(clerk, site)
    page.goto(QUICK)
    page.get_by_label("What happened").fill("Metal in the loaf")
    page.set_input_files("#quick-camera", photo("one.jpg"))
    page.context.clear_cookies()
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("You are signed out: sign in again in another tab", exact=False)).to_be_visible()
    other = page.context.new_page()
    other.goto("/admin/")
    sign_in_on(other, clerk)
    expect(other.get_by_role("button", name="Log out")).to_be_visible()
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="Draft complaint")).to_be_visible()
    assert Complaint.objects.get().complaint_description == "Metal in the loaf"
    assert Attachment.objects.get().file_name == "one.jpg"


def test_going_back_after_sending_shows_an_empty_form(site: Any, page_of: PageOf) -> None:
    page = page_of(make.make_user(site=site, role=DefaultRole.STANDARD), site, "phone")
    page.goto(QUICK)
    page.get_by_label("What happened").fill("Metal in the loaf")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("The complaint was kept as a draft.")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Quick complaint")).to_be_visible()
    expect(page.get_by_label("What happened")).to_have_value("")


def test_who_may_add_complaints_no_more_is_not_told_to_sign_in_again(site: Any, page_of: PageOf) -> None:
    clerk = make.make_user(site=site, role=DefaultRole.STANDARD)
    page = page_of(clerk, site)
    page.goto(QUICK)
    page.get_by_label("What happened").fill("Metal in the loaf")
    clerk.memberships.all().delete()
    make.give_role(clerk, site, DefaultRole.READER)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("It could not be sent. Try again.")).to_be_visible()
    expect(page.get_by_label("What happened")).to_have_value("Metal in the loaf")


def test_the_short_form_keeps_to_the_accessibility_rules(site: Any, page_of: PageOf) -> None:
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.STANDARD), site))
    assert faults_at(page, QUICK) == []
    page.screenshot(path="build/quick.png", full_page=True)
