"""What is assigned is chased and proven in browsers: triage, reading, training, reminders, holds."""

import re
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from pypdf import PdfReader

from documents.models import Reading
from records.accounts.actions import set_members
from records.accounts.models import DefaultRole
from records.actions.models import Action, Status
from records.complaints.models import Complaint
from records.employees.models import Course
from records.history.trail import now
from records.retention import mentions
from records.sites.models import Site
from records.sites.writing import add_record
from tests import make
from tests.browser.test_jobs import choose, staff, take
from tests.browser.waiting import follow, next_request
from tests.make.actions import make_action, move
from tests.make.backoffice import address, list_address
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer
from tests.make.documents import make_document, make_signer

PageOf = Callable[..., Page]
MANAGER, STANDARD, ADMINISTRATOR = DefaultRole.MANAGER, DefaultRole.STANDARD, DefaultRole.SITE_ADMINISTRATOR

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_complaint_is_triaged_from_the_start_page_and_answered_by_its_owner(site: Site, page_of: PageOf) -> None:
    owner = make.make_user("mira", site=site, role=STANDARD)
    make_complaint(site, trace_number="L26-1")
    page = page_of(staff(site, MANAGER), site)
    page.goto("/admin/")
    triage = page.get_by_role("region", name=re.compile("Complaints to triage"))
    triage.get_by_role("link", name="Complaint 1", exact=True).click()
    page.get_by_role("link", name="Triage", exact=True).click()
    choose(page, "Owner (required)", "mira", str(owner))
    page.get_by_label("Severity").select_option("Major")
    page.get_by_label("Target date").fill("2031-05-01")
    page.get_by_role("button", name="Triage", exact=True).click()
    expect(page.get_by_text("has its owner, severity and target date.")).to_be_visible()
    expect(page.get_by_role("link", name="Triage", exact=True)).to_have_count(0)
    page.goto(f"{list_address(Complaint)}?triage=needed")
    expect(page.get_by_role("link", name="L26-1")).to_have_count(0)

    hers = page_of(owner, site)
    hers.goto("/admin/")
    mine = hers.get_by_role("region", name=re.compile("My complaints"))
    expect(mine).to_contain_text("Answer, major")
    mine.get_by_role("link", name="Complaint 1", exact=True).click()
    hers.get_by_role("link", name="Edit", exact=True).click()
    hers.get_by_label("Answered on").fill(now().date().isoformat())
    hers.get_by_label("Reason for change").fill("Answered by telephone")
    follow(hers.get_by_role("button", name="Save", exact=True))
    hers.goto("/admin/")
    expect(hers.get_by_text("You have no complaint to answer.")).to_be_visible()
    complaint = Complaint.objects.get()
    assert (complaint.owner, complaint.severity) == (owner, "Major")
    assert complaint.answered_on is not None


def test_an_action_that_did_not_do_is_sent_back_and_its_owner_reads_why(site: Site, page_of: PageOf) -> None:
    owner = make.make_user(site=site, role=DefaultRole.READER)
    action = move(make_action(site, owner=owner, name="Replace the crates"), Status.DONE, owner)
    judge = page_of(staff(site, MANAGER), site)
    judge.goto("/admin/")
    judge.get_by_role("region", name=re.compile("Actions to judge")).get_by_role("link", name="Replace").click()
    take(judge, "Send back", Reason_for_change="Two old crates are still in use.")
    expect(judge.get_by_text("was sent back to its owner.")).to_be_visible()
    mine = page_of(owner, site)
    mine.goto("/admin/")
    mine.get_by_role("region", name=re.compile("My actions")).get_by_role("link", name="Replace").click()
    expect(mine.get_by_text("Two old crates are still in use.")).to_be_visible()
    assert Action.objects.get(pk=action.pk).record_status == Status.OPEN


def test_a_document_is_read_and_the_matrix_shows_it(site: Site, page_of: PageOf) -> None:
    baker, other = make_signer(site), make_signer(site)
    role = make.make_role(site, ["items.view_item"], name="Bakers")
    set_members(role, add=[baker, other], author=make.SYSTEM)
    make_document(site, name="Allergen plan", must_read=[role])
    page = page_of(baker, site)
    page.goto("/admin/")
    page.get_by_role("region", name=re.compile("Documents that you must read")).get_by_role("link").first.click()
    expect(page.get_by_role("link", name=re.compile("^Open "))).to_be_visible()
    page.get_by_role("button", name="I have read and understood it").click()
    expect(page.get_by_text("you have read and understood it.")).to_be_visible()
    assert Reading.objects.get().user == baker
    boss = page_of(staff(site, MANAGER), site)
    boss.goto("/admin/")
    boss.get_by_role("link", name="Who has read what").click()
    expect(boss.get_by_text("1 of 2 readings are done.")).to_be_visible()
    boss.get_by_role("link", name="Show only what is missing or expired").click()
    table = boss.get_by_role("table")
    expect(table).to_contain_text(str(other))
    expect(table).not_to_contain_text(str(baker))
    boss.get_by_role("link", name=re.compile("Allergen plan")).click()
    expect(boss.get_by_text("1 of 2 people have read version 1")).to_be_visible()


def test_the_gaps_of_a_job_are_seen_by_person_and_by_job(site: Site, page_of: PageOf) -> None:
    course = Course(site=site, name="Hygiene", months_of_validity=12)
    add_record(course, author=make.SYSTEM, operation="AddCourse")
    person = make.make_employee(site, last_name="Olsen")
    job = make.make_job_description(site, name="Mixer", employees=[person])
    job.required_courses.add(course)
    page = page_of(staff(site, MANAGER), site)
    page.goto("/admin/")
    page.get_by_role("link", name="Training matrix").click()
    expect(page.get_by_role("row", name=re.compile("Olsen.*Mixer.*Hygiene.*Missing"))).to_be_visible()
    page.get_by_role("link", name="By job").click()
    expect(page.get_by_role("row", name=re.compile("Mixer.*Hygiene.*0 of 1"))).to_be_visible()
    page.get_by_role("link", name="Mixer").click()
    expect(page.get_by_role("heading", name=re.compile("Mixer"))).to_be_visible()


def test_somebody_sees_what_their_reminder_says_and_chooses_how_often_it_comes(site: Site, page_of: PageOf) -> None:
    owner = make.make_user(site=site, role=STANDARD, email="mira@example.com")
    make_action(site, owner=owner, name="Replace the crates", due_date=now())
    page = page_of(owner, site)
    page.goto("/admin/")
    page.get_by_role("link", name="My reminders").click()
    expect(page.get_by_role("row", name=re.compile("Replace the crates"))).to_be_visible()
    page.get_by_label(re.compile("Monday")).first.check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your choice was saved.")).to_be_visible()
    expect(page.get_by_label(re.compile("Monday")).first).to_be_checked()


def test_a_hold_keeps_a_contact_from_being_erased_until_it_is_lifted(site: Site, page_of: PageOf) -> None:
    contact = {"first_name": "Wilhelmina", "last_name": "Przybylski", "position": "Buyer"}
    customer = make_customer(site, name="Oakfield Stores", party_contacts=[contact])
    boss = page_of(staff(site, MANAGER), site)
    boss.goto(address(customer, "read"))
    take(boss, "Set legal hold", Reason_for_change="Court case 12")
    expect(boss.get_by_text(re.compile("On legal hold since"))).to_be_visible()

    page = page_of(staff(site, ADMINISTRATOR), site)
    page.goto(address(customer, "read"))
    text = "“Erase a contact” is not possible now. This customer is on legal hold"
    expect(page.get_by_role("main")).to_contain_text(text)
    expect(page.get_by_role("link", name="Erase a contact")).to_have_count(0)

    page.goto("/admin/")
    page.locator("summary", has_text="Administration").click()
    page.get_by_role("link", name="Legal holds").click()
    row = page.get_by_role("row", name=re.compile("Oakfield Stores.*Court case 12"))
    row.get_by_role("link", name=re.compile("Lift")).click()
    page.get_by_label("Reason for change").fill("Case closed")
    follow(page.get_by_role("button", name="Lift legal hold"))
    page.goto(address(customer, "read"))
    page.get_by_role("link", name="Erase a contact").click()
    page.get_by_label("Contact").select_option(label="Wilhelmina Przybylski, Buyer")
    page.get_by_label("Reason for erasing").fill("Asked by letter")
    page.get_by_role("button", name="Erase a contact").click()
    expect(page.get_by_text("The contact was erased from")).to_be_visible()
    expect(page.get_by_text("Przybylski")).to_have_count(0)


def test_before_an_erasure_other_records_are_searched_in_parts_while_the_page_is_read(
    site: Site, page_of: PageOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mentions, "STEP_SECONDS", 0)
    customer = make_customer(site, party_contacts=[{"first_name": "Wilhelmina", "last_name": "Przybylski"}])
    make_complaint(site, trace_number="L26-1", complaint_description="Wilhelmina Przybylski called.")
    make_action(site, name="Call Mrs. Przybylski")
    page = page_of(staff(site, ADMINISTRATOR), site)
    routes: list[Route] = []
    page.route(re.compile(r"\?searched"), lambda route: routes.append(route))
    page.goto(address(customer, "read"))
    page.get_by_role("link", name="Erase a contact").click()
    button, link = page.get_by_role("button", name="Erase a contact"), page.get_by_role("link", name="Search other")
    expect(page.get_by_text("Other records are being searched for these values.")).to_be_visible()
    expect(button).to_be_disabled()
    expect(link).to_have_count(0)
    next_request(page, routes).abort()
    expect(page.get_by_text("The search was interrupted, so not all records were searched.")).to_be_visible()
    expect(link).to_be_visible()
    expect(button).to_be_enabled()
    # The link tries it again on this page. The second part is broken off too, and goes on where it was.
    link.click()
    next_request(page, routes).continue_()
    second = next_request(page, routes)
    expect(page.get_by_role("main")).to_contain_text("kinds of records have been searched. Next: ")
    expect(page.get_by_text("No other record that you may see")).to_have_count(0)
    expect(button).to_be_disabled()
    second.fulfill(status=500)
    expect(page.get_by_text("The search was interrupted, so not all records were searched.")).to_be_visible()
    page.unroute_all()
    page.get_by_role("link", name="Search on").click()
    expect(page.get_by_text("kinds of records that you may see have been searched.")).to_be_visible()
    # What is found, and how far the search is, is read out.
    read_out = page.locator("[aria-live=polite]").filter(has_text="kinds of records that you may see")
    expect(read_out.get_by_role("list").get_by_role("link", name=re.compile("Action 1|Complaint 1"))).to_have_count(2)
    expect(page.get_by_text("The search was interrupted")).to_have_count(0)
    expect(page.get_by_text("Parts before this one")).to_have_count(0)
    expect(button).to_be_enabled()


def test_a_search_whose_record_was_changed_begins_again(
    site: Site, page_of: PageOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mentions, "STEP_SECONDS", 0)
    customer = make_customer(site, party_contacts=[{"first_name": "Wilhelmina", "last_name": "Przybylski"}])
    make_action(site, name="Call Mrs. Przybylski")
    page = page_of(staff(site, ADMINISTRATOR), site)
    page.route(re.compile(r"\?searched="), lambda route: route.fulfill(status=400))
    page.goto(address(customer, "read"))
    page.get_by_role("link", name="Erase a contact").click()
    expect(page.get_by_text("The search was interrupted, so not all records were searched.")).to_be_visible()
    page.unroute_all()
    page.get_by_role("link", name="Search on").click()
    expect(page.get_by_text("kinds of records that you may see have been searched.")).to_be_visible()
    expect(page.get_by_role("list").get_by_role("link", name="Action 1")).to_have_count(1)


def test_without_scripts_links_lead_through_the_parts_of_the_search(
    site: Site, page_of: PageOf, monkeypatch: pytest.MonkeyPatch, live_server: Any
) -> None:
    monkeypatch.setattr(mentions, "STEP_SECONDS", 0)
    customer = make_customer(site, party_contacts=[{"first_name": "Wilhelmina", "last_name": "Przybylski"}])
    make_action(site, name="Call Mrs. Przybylski")
    context = page_of(staff(site, ADMINISTRATOR), site).context
    plain = context.browser.new_context(  # type: ignore[union-attr]
        base_url=live_server.url, java_script_enabled=False, storage_state=context.storage_state()
    )
    page = plain.new_page()
    page.goto(address(customer, "read"))
    page.get_by_role("link", name="Erase a contact").click()
    follow(page.get_by_role("link", name="Search other records for these values"))
    expect(page.get_by_text("The search was interrupted")).to_be_hidden()
    action, on = (
        page.get_by_role("main").get_by_role("link", name="Action 1"),
        page.get_by_role("link", name="Search on"),
    )
    count = action.count()
    while on.count():
        expect(page.get_by_role("main")).to_contain_text("kinds of records have been searched. Next: ")
        follow(on)
        count += action.count()
    assert count == 1
    expect(page.get_by_text("kinds of records that you may see have been searched.")).to_be_visible()
    expect(page.get_by_text("Parts before this one have found records too: go back to see them.")).to_be_visible()
    plain.close()


def test_the_monthly_report_leads_to_its_lists_and_is_printed(site: Site, page_of: PageOf, tmp_path: Any) -> None:
    complaint = make_complaint(site)
    Complaint.objects.filter(pk=complaint.pk).update(target_date="2020-05-01T00:00:00Z")
    page = page_of(staff(site, MANAGER), site)
    page.goto("/admin/")
    page.get_by_role("link", name="Monthly report").first.click()
    page.get_by_role("link", name="Complaints to answer: overdue today").click()
    expect(page.get_by_role("heading", name=re.compile("^Complaints"))).to_be_visible()
    expect(page.get_by_role("link", name="1", exact=True)).to_be_visible()
    page.go_back()
    follow(page.get_by_role("link", name="Month before", exact=True))
    expect(page.get_by_label("Month", exact=True)).not_to_have_value("")
    with page.expect_download() as download:
        page.get_by_role("link", name="Print (PDF)").click()
    text = PdfReader(BytesIO(download.value.path().read_bytes())).pages[0].extract_text()
    assert "Monthly report" in text
