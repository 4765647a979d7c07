"""What people do in the back-office, in a real browser, by mouse and by keyboard."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from records.accounts.models import DefaultRole, Role, SubscriptionKey
from records.employees.models import Employee
from records.history.models import Change
from tests import make
from tests.browser.waiting import choose, chooser, follow, next_request
from tests.make.backoffice import address
from tests.make.signing_in import mailed_path, run_tasks

pytestmark = pytest.mark.django_db(transaction=True)

PageOf = Callable[..., Page]


def manager(site: Any, role: DefaultRole = DefaultRole.MANAGER) -> Any:
    return make.make_user(site=site, role=role, email="mira@example.com")


def test_somebody_signs_in_looks_around_and_signs_out(site: Any, page_of: PageOf) -> None:
    user = manager(site)
    page = page_of()
    page.goto("/admin/")
    page.get_by_label("User name").fill(user.user_name)
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Password").fill(make.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Employees", exact=True).first.click()
    expect(page.get_by_text("There are no employees here yet.")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Sign in to Larder")).to_be_visible()


def test_a_manager_changes_an_employee_by_keyboard_and_the_history_shows_it(site: Any, page_of: PageOf) -> None:
    chief = make.make_employee(site, first_name="Zora", last_name="Chief")
    employee = make.make_employee(site, address="1 Mill Lane\nHillside")
    page = page_of(manager(site), site)
    page.goto(address(employee))
    chooser(page, "Reporting to").focus()
    page.keyboard.type("zora")
    expect(page.get_by_role("option", name="Zora Chief")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Add education or training").click()
    page.locator("[name=education_training-0-title]").fill("Hygiene")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert").get_by_text("Say why the record is changed.")).to_be_visible()
    page.get_by_label("Reason for change").fill("New line")
    page.get_by_role("button", name="Save and stay").click()
    expect(page.locator(".messages")).to_contain_text("was changed successfully")
    stored = Employee.objects.get(pk=employee.pk)
    assert stored.reporting_to_id == chief.pk
    assert [row.title for row in stored.education_training.all()] == ["Hygiene"]
    change = Change.objects.get(record_id=employee.pk, operation="UpdateEmployee")
    assert [entry["field"] for entry in change.fields] == ["reporting_to", "education_training"]
    page.get_by_role("link", name="History").click()
    expect(page.get_by_text("“New line”")).to_be_visible()


def test_what_the_browser_would_rewrite_in_an_input_stays_as_it_is(site: Any, page_of: PageOf) -> None:
    employee = make.make_employee(site, email_address="mira@bücher.de", position="Line\nlead", phone="1")
    page = page_of(manager(site), site)
    page.goto(address(employee))
    page.get_by_label("Phone").fill("2")
    page.get_by_label("Reason for change").fill("Moved")
    page.get_by_role("button", name="Save and stay").click()
    expect(page.locator(".messages")).to_contain_text("was changed successfully")
    change = Change.objects.get(record_id=employee.pk, operation="UpdateEmployee")
    assert [entry["field"] for entry in change.fields] == ["phone"]


@pytest.mark.parametrize("is_sent", [True, False])
def test_a_look_up_that_is_answered_after_the_choice_does_not_open_the_list_again(
    site: Any, page_of: PageOf, *, is_sent: bool
) -> None:
    """It would lie over what is pressed next."""
    make.make_employee(site, first_name="Zora", last_name="Chief")
    page = page_of(manager(site), site)
    page.goto(address(make.make_employee(site)))
    field, option = chooser(page, "Reporting to"), page.get_by_role("option", name="Zora Chief")
    field.click()
    expect(option).to_be_visible()
    routes: list[Route] = []
    page.route(re.compile("q=zora"), lambda route: routes.append(route))
    page.keyboard.type("zora")
    answer = next_request(page, routes) if is_sent else None
    option.click()
    expect(field).to_have_value(re.compile("Zora Chief"))
    if answer:
        with page.expect_event("requestfinished"):
            answer.continue_()
    page.wait_for_timeout(600)
    assert option.is_hidden()


def test_the_second_of_two_editors_sees_what_the_first_did(site: Any, page_of: PageOf) -> None:
    employee = make.make_employee(site)
    one, two = page_of(manager(site), site), page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site)
    for page in (one, two):
        page.goto(address(employee))
    one.get_by_label("Position").fill("Baker")
    one.get_by_label("Reason for change").fill("Promoted")
    follow(one.get_by_role("button", name="Save and stay"))
    two.get_by_label("Employee code").fill("B7")
    two.get_by_label("Reason for change").fill("Numbered")
    two.get_by_role("button", name="Save and stay").click()
    notice = two.get_by_role("alert").filter(has_text="This record was changed while you were editing it")
    expect(notice).to_contain_text("Promoted")
    expect(two.get_by_label("Employee code")).to_have_value("B7")
    expect(two.get_by_label("Position")).to_have_value("Baker")
    two.get_by_role("button", name="Save and stay").click()
    expect(two.locator(".messages")).to_contain_text("was changed successfully")
    stored = Employee.objects.get(pk=employee.pk)
    assert (stored.position, stored.code) == ("Baker", "B7")


def test_a_key_is_made_copied_and_revoked(site: Any, page_of: PageOf) -> None:
    user = manager(site, DefaultRole.READER)
    page = page_of(user, site)
    page.goto("/profile/")
    page.get_by_label("Name").first.fill("ERP sync")
    page.get_by_role("button", name="Make a key").click()
    expect(page.get_by_label("Key", exact=True)).to_have_value(re.compile("^lk_"))
    page.get_by_role("button", name="Copy", exact=True).click()
    page.goto("/profile/")
    expect(page.get_by_text("lk_")).to_have_count(0)
    page.get_by_role("button", name=re.compile("Revoke ERP sync")).click()
    expect(page.locator(".messages")).to_contain_text("no longer works")
    assert SubscriptionKey.objects.get(user=user).revoked is not None


def test_a_forgotten_password_is_chosen_anew_by_mail(site: Any, page_of: PageOf, live_server: Any) -> None:
    user = manager(site)
    page = page_of()
    page.goto("/admin/login/")
    page.get_by_role("link", name="Forgotten your password?").click()
    page.get_by_label("E-mail address").fill("mira@example.com")
    page.get_by_role("button", name="Send the link").click()
    expect(page.get_by_text("a message with a link is on its way")).to_be_visible()
    run_tasks()
    page.goto(mailed_path())
    page.get_by_label("New password", exact=True).fill("salt-and-flour-77")
    page.get_by_label("New password confirmation").fill("salt-and-flour-77")
    page.get_by_role("button", name="Set the password").click()
    expect(page.get_by_text("Your password is set.")).to_be_visible()
    user.refresh_from_db()
    assert user.check_password("salt-and-flour-77")


def test_a_site_administrator_gives_a_role_to_a_colleague(site: Any, page_of: PageOf) -> None:
    make.make_user("colleague", site=site, display_name="Nuria Colleague")
    role = Role.objects.get(site=site, default_role=DefaultRole.STANDARD)
    page = page_of(manager(site, DefaultRole.SITE_ADMINISTRATOR), site)
    page.goto(reverse("admin:accounts_role_members", args=(role.pk,)))
    choose(page, "Add people", "nuria", "Nuria Colleague")
    page.get_by_label("Reason for change").fill("Joined the line")
    page.get_by_role("button", name="Save members").click()
    expect(page.get_by_role("row", name=re.compile("Nuria Colleague"))).to_be_visible()
