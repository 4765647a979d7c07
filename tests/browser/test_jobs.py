"""The jobs of quality staff and administrators, each done in a real browser by somebody with the role that it takes."""

import re
from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole, KeyCall, ProvisioningToken, SubscriptionKey, User
from records.audits.models import AuditRecord
from records.complaints.models import Complaint
from records.history.models import Change
from records.operations.calls import buffer
from records.reference.models import Nonconformance, Product
from records.sites.models import Entity, EntityFolder, Site
from tests import make
from tests.browser.waiting import choose, follow
from tests.make import audits as make_audits
from tests.make.backoffice import address, list_address
from tests.make.complaints import make_complaint, make_entry
from tests.make.customers import make_customer

pytestmark = pytest.mark.django_db(transaction=True)

PageOf = Callable[..., Page]


def staff(site: Site, role: DefaultRole) -> User:
    return make.make_user(site=site, role=role, given_name=str(role.label))


def take(page: Page, step: str, **fields: str) -> None:
    """Press a step's button on the record's page, fill in what it asks, press it there, and see what comes of it."""
    follow(page.locator("#content-main, .object-tools").get_by_role("link", name=step, exact=True).first)
    for label, text in fields.items():
        page.get_by_label(label.replace("_", " ")).fill(text)
    follow(page.get_by_role("button", name=step, exact=True))


def test_a_complaint_goes_from_draft_to_completed_and_back_and_its_history_is_compared(
    site: Site, page_of: PageOf
) -> None:
    make_customer(site, name="Oakfield Stores")
    make_entry(Product, site, "Rye loaf")
    make_entry(Nonconformance, site, "Foreign body")
    page = page_of(staff(site, DefaultRole.STANDARD), site)
    page.goto(list_address(Complaint))
    page.get_by_role("link", name="Add the first complaint").click()
    choose(page, "Customer", "oak", "Oakfield Stores")
    choose(page, "Product", "rye", "Rye loaf")
    page.get_by_label("Trace number").fill("L26-1")
    follow(page.get_by_role("button", name="Save and stay"))
    take(page, "Submit for review")
    expect(page.get_by_role("main")).to_contain_text("This field is required.")
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("link", name="Edit", exact=True).click()
    choose(page, "Nonconformance", "body", "Foreign body")
    follow(page.get_by_role("button", name="Save and stay"))
    take(page, "Submit for review")
    expect(page.get_by_role("heading", name="Complaint 1: L26-1")).to_be_visible()
    expect(page.get_by_role("link", name="Complete the review")).to_have_count(0)

    boss = page_of(staff(site, DefaultRole.MANAGER), site)
    boss.goto("/admin/")
    boss.get_by_role("link", name="Complaint 1", exact=True).first.click()
    take(boss, "Complete the review", Review_report="A sieve was torn; it was replaced.")
    expect(boss.locator(".messages")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    take(boss, "Reopen", Reason_for_change="The customer sent a photo.")
    boss.get_by_role("link", name="History", exact=True).click()
    expect(boss.get_by_text("“The customer sent a photo.”")).to_be_visible()
    boss.get_by_role("button", name="Compare the two chosen moments").click()
    comparison = boss.locator(".compared")
    expect(comparison.get_by_role("row", name=re.compile("Review report"))).to_contain_text("A sieve was torn")
    boss.get_by_label("Field").select_option(label="Status")
    boss.get_by_role("button", name="Show", exact=True).click()
    expect(boss.locator(".trail > li")).to_have_count(4)
    complaint = Complaint.objects.get()
    assert (complaint.record_status, complaint.site_sequence_id) == ("Awaiting Review", 1)
    operations = Change.objects.filter(record_id=complaint.pk).order_by("number").values_list("operation", flat=True)
    assert [name.removesuffix("Complaint") for name in operations][-3:] == ["Submit", "Complete", "Reopen"]


def test_somebody_finds_records_of_two_sites_and_switches_between_them(
    site: Site, other_site: Site, page_of: PageOf
) -> None:
    user = staff(site, DefaultRole.READER)
    make.give_role(user, other_site, DefaultRole.READER)
    make_customer(site, name="Quillmaker")
    elsewhere = make_customer(other_site, name="Quillfeather")
    page = page_of(user, site)
    page.goto("/admin/")
    page.get_by_role("searchbox", name="Search all records").fill("quill")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name=re.compile("Quillmaker"))).to_be_visible()
    page.get_by_role("link", name=re.compile("Quillfeather")).click()
    expect(page.get_by_role("heading", name="Quillfeather")).to_be_visible()
    assert str(elsewhere.pk) in page.url
    page.goto("/admin/customers/customer/")
    expect(page.get_by_role("link", name="Quillmaker")).to_be_visible()
    page.get_by_role("combobox", name="Site", exact=True).select_option(label=other_site.name)
    expect(page.get_by_role("heading", name=re.compile(f"^Customers {other_site.name}"))).to_be_visible()
    expect(page.get_by_role("link", name="Quillfeather")).to_be_visible()
    expect(page.get_by_role("link", name="Quillmaker")).to_have_count(0)


def test_an_audit_is_scheduled_from_its_program_and_completed(site: Site, page_of: PageOf) -> None:
    rating = make_audits.make_rating(site)
    checklist = make_audits.make_checklist(site, questions=("Are hands washed?",))
    program = make_audits.make_program(
        site, name="Hygiene walk", rating=rating, checklists=[checklist], frequency_months=3
    )
    page = page_of(staff(site, DefaultRole.MANAGER), site)
    page.goto(address(program))
    page.get_by_label("Next due date").fill("2098-12-01")
    page.get_by_label("Reason for change").fill("Planned")
    follow(page.get_by_role("button", name="Save and stay"))
    take(page, "Schedule the next audits")
    page.get_by_role("link", name="Audit 1", exact=True).click()
    take(page, "Start")
    page.get_by_role("link", name="Edit", exact=True).click()
    page.locator("[name=findings-0-rating_response]").select_option(label="Partly")
    page.get_by_label("Reason for change").fill("Walked the line")
    follow(page.get_by_role("button", name="Save and stay"))
    take(page, "Submit for review")
    take(page, "Complete")
    expect(page.locator(".messages")).to_contain_text("was completed")
    audit = AuditRecord.objects.get()
    assert (audit.record_status, str(audit.score), audit.rating, audit.result) == ("Completed", "50.00", "C", "Fail")
    program.refresh_from_db()
    assert program.next_due_date is not None
    assert program.next_due_date.date().isoformat() == "2099-03-01"


def test_a_folder_is_made_renamed_and_moved_in_the_tree(site: Site, page_of: PageOf) -> None:
    page = page_of(staff(site, DefaultRole.SITE_ADMINISTRATOR), site)
    for name in ("Upper", "Lower"):
        page.goto(f"{list_address(EntityFolder)}?entity=item")
        page.get_by_role("link", name="Add a folder", exact=True).click()
        page.get_by_label("Name").fill(name)
        follow(page.get_by_role("button", name="Save", exact=True))
    page.goto(f"{list_address(EntityFolder)}?entity=item")
    page.get_by_role("link", name="Move Lower").click()
    page.get_by_label("Reason for change").fill("Tidied up")
    page.get_by_role("button", name="Move here, into Upper").click()
    expect(page.get_by_role("listitem").filter(has_text="Upper").get_by_role("list")).to_contain_text("Lower")
    lower = EntityFolder.objects.get(name="Lower")
    assert lower.parent is not None
    assert (lower.entity, lower.parent.name) == (Entity.ITEM, "Upper")


def test_a_key_is_rotated_and_its_recent_calls_are_seen(site: Site, page_of: PageOf) -> None:
    user = staff(site, DefaultRole.READER)
    key = make.make_key(site, user=user)
    page = page_of(user, site)
    for path in ("/customer/GetCustomerList", "/customer/GetCustomer/nonsense"):
        page.request.get(path, headers=key.headers)
    buffer.flush()
    page.goto("/profile/")
    expect(page.get_by_role("row", name=re.compile("GetCustomer 400 Bad Request"))).to_be_visible()
    page.get_by_role("link", name=re.compile("Recent calls of Test key")).click()
    page.get_by_role("link", name="Failed calls").click()
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("link", name="Back to the keys").click()
    follow(page.get_by_role("button", name=re.compile("Rotate Test key")))
    secret = page.get_by_label("Key", exact=True).input_value()
    answer = page.request.get("/customer/GetCustomerList", headers={"Ocp-Apim-Subscription-Key": secret})
    assert answer.status == 200
    assert SubscriptionKey.objects.filter(user=user, revoked__isnull=True).count() == 2
    assert KeyCall.objects.filter(key__user=user).count() == 2


def test_an_employee_gets_an_account(site: Site, page_of: PageOf) -> None:
    employee = make.make_employee(site, first_name="Mira", last_name="Quill")
    page = page_of(staff(site, DefaultRole.SITE_ADMINISTRATOR), site)
    page.goto(address(employee))
    page.get_by_role("link", name="Give an account").click()
    page.get_by_label("Role").select_option(label="Reader")
    page.get_by_label("Reason for change").fill("Signs documents")
    page.get_by_role("button", name="Give an account").click()
    expect(page.locator(".messages")).to_contain_text("has an account now")
    assert User.objects.get(pk=employee.pk).user_name == "mira.quill"


def test_a_directory_is_connected_and_checked(site: Site, page_of: PageOf) -> None:
    page = page_of(staff(site, DefaultRole.SITE_ADMINISTRATOR), site)
    page.goto(reverse("admin:accounts_directory_add"))
    page.get_by_label("Name").fill("Entra")
    follow(page.get_by_role("button", name="Save and stay"))
    page.get_by_role("link", name="Connection and tokens").click()
    page.get_by_label("Name").fill("Entra, production")
    page.get_by_label("Dialect").select_option(label="Microsoft Entra ID")
    follow(page.get_by_role("button", name="Make a token"))
    token = page.get_by_label("Secret token").input_value()
    assert page.request.get("/scim/Users", headers={"Authorization": f"Bearer {token}"}).status == 200
    page.get_by_role("button", name="Test /scim").click()
    expect(page.get_by_role("status").filter(has_text="Everything works as a directory expects.")).to_be_visible()
    page.get_by_role("button", name=re.compile("Revoke Entra, production")).click()
    expect(page.locator(".messages")).to_contain_text("no longer works")
    assert ProvisioningToken.objects.get().revoked is not None


def test_a_page_is_walked_by_keyboard_without_a_trap(site: Site, page_of: PageOf) -> None:
    complaint = make_complaint(site)
    page = page_of(staff(site, DefaultRole.MANAGER), site)
    page.goto(address(complaint))
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to main content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    stops = []
    for _ in range(80):
        page.keyboard.press("Tab")
        stop = page.evaluate(
            "(() => { const e = document.activeElement, s = getComputedStyle(e);"
            " return [e.tagName + '#' + e.id + e.name + e.textContent.slice(0, 20), s.outlineStyle, e.tagName]; })()"
        )
        if stop[2] == "BODY":
            break
        stops.append(stop)
    # Every stop shows where one is, and the last of them is the way out of the form.
    assert [name for name, outline, _ in stops if outline == "none"] == []
    assert len({name for name, _, _ in stops}) > 25
    assert any("Cancel" in name for name, _, _ in stops)
