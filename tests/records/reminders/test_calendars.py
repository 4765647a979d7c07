"""A person's calendar link: what it shows, in which form, and when it ends."""

import datetime
import logging
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from records.accounts import actions as account_actions
from records.accounts.models import CalendarLink, DefaultRole, User
from records.actions.models import Status
from records.employees.models import Employee
from records.history.models import Change
from records.history.trail import now
from records.reminders import calendars
from records.reminders.ics import Event, calendar_text
from records.sites.models import Site
from tests import make
from tests.make.actions import make_action, move
from tests.make.audits import make_audit, make_program
from tests.make.backoffice import address, browser, sign_in
from tests.make.documents import make_document
from tests.make.transfer import text_of

DAY = datetime.timedelta(days=1)

pytestmark = pytest.mark.django_db


def in_days(count: int) -> datetime.datetime:
    """Return midnight UTC of the day that many days from now, as days are stored."""
    return now().replace(hour=0, minute=0, second=0, microsecond=0) + count * DAY


def make_link(user: User, site: Site | None = None) -> str:
    """Make the person's link through the profile page, and return its path."""
    client = sign_in(user, site)
    assert 'action="/admin/calendar-link/"' in client.get("/profile/").content.decode()
    page = client.post("/admin/calendar-link/", {"do": "make"}, follow=True)
    match = re.search(r'value="https?://[^/"]+(/calendar/[^"]+\.ics)"', page.content.decode())
    assert match, text_of(page)
    assert "no-store" in page["Cache-Control"]
    return match[1]


def fetch(path: str, **more: Any) -> Any:
    """Fetch a calendar as a program does, which is signed in nowhere."""
    return Client().get(path, **more)


def unfold(response: Any) -> str:
    """Return the text of a calendar with each property in one line."""
    assert response.status_code == 200, response.status_code
    text: str = response.content.decode()
    return text.replace("\r\n ", "")


def events(path: str) -> list[dict[str, str]]:
    """Return the properties of each event."""
    parts = unfold(fetch(path)).split("BEGIN:VEVENT\r\n")[1:]
    return [dict(line.split(":", 1) for line in part.split("\r\n") if ":" in line) for part in parts]


def test_the_calendar_shows_what_the_person_has_to_do(site: Site, settings: Any) -> None:
    settings.BASE_URL = "https://larder.example"
    ada = make.make_user("ada", site=site, role=DefaultRole.MANAGER)
    employee = make.make_employee(site, id=ada.pk)
    Employee.objects.filter(pk=employee.pk).update(user=ada)
    action = make_action(site, owner=ada, name="Fix; it, now\\", due_date=in_days(-3))
    make_action(site, name="Somebody else's", due_date=in_days(1))
    move(make_action(site, owner=ada, name="Done", due_date=in_days(1)), Status.DONE, ada, result="Done")
    audit = make_audit(make_program(site, name="GMP", auditors=[employee]), due_date=in_days(40))
    document = make_document(site, name="Plan", author=make.author_of(ada), review_date=in_days(400))
    entries = events(make_link(ada))
    assert [one["UID"] for one in entries] == [
        f"action-{action.pk}@larder.example",
        f"auditrecord-{audit.pk}@larder.example",
        f"document-{document.pk}@larder.example",
    ]
    first = entries[0]
    assert first["SUMMARY"] == "Action 1: Fix\\; it\\, now\\\\"
    assert first["LOCATION"] == site.name
    assert first["DTSTART;VALUE=DATE"] == f"{in_days(-3):%Y%m%d}"
    assert first["DTEND;VALUE=DATE"] == f"{in_days(-2):%Y%m%d}"
    assert first["URL"] == f"https://larder.example{address(action, 'read')}"
    assert re.fullmatch(r"\d{8}T\d{6}Z", first["DTSTAMP"])


def test_the_text_is_what_the_standard_asks_for() -> None:
    title = "Ünïcode 日本 " * 20 + "\nsecond line\r\nthird\x07"
    event = Event("a-1@x", datetime.date(2026, 3, 10), title, "Hillside", "https://x/")
    text = calendar_text("Larder", [event], datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC))
    data = text.encode()
    assert data.startswith(b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:")
    assert data.endswith(b"END:VEVENT\r\nEND:VCALENDAR\r\n")
    assert b"\n" not in data.replace(b"\r\n", b"")
    lines = data.split(b"\r\n")
    assert max(map(len, lines)) <= 75
    for line in lines:
        line.decode()
    assert "DTSTAMP:20260102T030405Z\r\n" in text
    assert "DTSTART;VALUE=DATE:20260310\r\nDTEND;VALUE=DATE:20260311\r\n" in text
    summary = re.search(r"SUMMARY:(.*?)\r\n[A-Z]", text.replace("\r\n ", ""), re.S)
    assert summary
    assert summary[1] == "Ünïcode 日本 " * 20 + "\\nsecond line\\nthird "


def test_a_calendar_is_the_same_after_a_second_fetch_but_for_its_stamp(site: Site) -> None:
    ada = make.make_user("ada", site=site, role=DefaultRole.READER)
    make_action(site, owner=ada, due_date=in_days(1))
    path = make_link(ada)
    first, second = (re.sub(r"DTSTAMP:\S+", "", unfold(fetch(path))) for _ in range(2))
    assert first == second
    assert CalendarLink.objects.get().last_used is not None


def test_a_new_link_ends_the_former_one_and_revoking_ends_it(site: Site) -> None:
    ada = make.make_user("ada", site=site, role=DefaultRole.READER)
    first = make_link(ada)
    second = make_link(ada)
    assert (fetch(first).status_code, fetch(second).status_code) == (404, 200)
    client = sign_in(ada)
    assert f"…{second.removesuffix('.ics')[-4:]}" in client.get("/profile/").content.decode()
    assert client.post("/admin/calendar-link/", {"do": "revoke"}).status_code == 302
    assert fetch(second).status_code == 404
    assert "Make a calendar link" in client.get("/profile/").content.decode()
    operations = Change.objects.filter(model="accounts.CalendarLink").order_by("number")
    assert list(operations.values_list("operation", "author_id")) == [
        ("IssueCalendarLink", ada.pk),
        ("RevokeCalendarLink", ada.pk),
        ("IssueCalendarLink", ada.pk),
        ("RevokeCalendarLink", ada.pk),
    ]
    secret = second.removeprefix("/calendar/").removesuffix(".ics")
    assert secret not in str(list(Change.objects.values_list("fields", "reason", "record_name")))
    assert secret not in str(CalendarLink.objects.values())


def test_a_link_is_shown_once(site: Site) -> None:
    ada = make.make_user("ada", site=site, role=DefaultRole.READER)
    client = sign_in(ada)
    assert ".ics" in client.post("/admin/calendar-link/", {"do": "make"}, follow=True).content.decode()
    again = client.get("/admin/calendar-link/", follow=True)
    assert "A calendar link is shown only once" in text_of(again)
    assert ".ics" not in again.content.decode()
    assert CalendarLink.objects.count() == 1
    assert client.post("/admin/calendar-link/", {"do": "nonsense"}).status_code == 403
    assert Client().post("/admin/calendar-link/", {"do": "make"}).status_code == 302
    assert CalendarLink.objects.count() == 1


def test_the_link_ends_with_the_accounts_access_and_does_not_come_back(site: Site) -> None:
    ada = make.make_user("ada", site=site, role=DefaultRole.READER)
    path = make_link(ada)
    account_actions.end_access(ada, author=make.SYSTEM, reason="Left")
    assert fetch(path).status_code == 404
    User.objects.filter(pk=ada.pk).update(is_active=True)
    assert fetch(path).status_code == 404


def test_an_inactive_account_and_one_without_a_role_get_nothing(site: Site) -> None:
    ada = make.make_user("ada", site=site, role=DefaultRole.READER)
    path = make_link(ada)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert fetch(path).status_code == 404
    User.objects.filter(pk=ada.pk).update(is_active=True)
    assert fetch(path).status_code == 200
    make.account_actions.set_members(ada.memberships.get().role, remove=[ada], author=make.SYSTEM)
    assert fetch(path).status_code == 404


def test_what_belongs_to_a_lost_site_is_not_shown(site: Site, other_site: Site) -> None:
    ada = make.make_user("ada", site=site, role=DefaultRole.READER)
    make.give_role(ada, other_site, DefaultRole.READER)
    make_action(site, owner=ada, name="Here", due_date=in_days(1))
    make_action(other_site, owner=ada, name="There", due_date=in_days(1))
    path = make_link(ada)
    assert {one["SUMMARY"] for one in events(path)} == {"Action 1: Here", "Action 1: There"}
    role = ada.memberships.get(role__site=other_site).role
    make.account_actions.set_members(role, remove=[ada], author=make.SYSTEM)
    assert {one["SUMMARY"] for one in events(path)} == {"Action 1: Here"}


@pytest.mark.parametrize("secret", ["lc_nonsense", "x" * 3000, "lc_%00", "..%2F..%2Fetc"])
def test_a_wrong_address_is_not_found(site: Site, secret: str) -> None:
    answer = fetch(f"/calendar/{secret}.ics")
    assert answer.status_code == 404
    assert "nonsense" not in answer.content.decode()


def test_an_address_answers_reading_alone(site: Site) -> None:
    path = make_link(make.make_user("ada", site=site, role=DefaultRole.READER))
    assert Client().post(path).status_code == 405
    assert Client().options(path)["Allow"] == "GET, HEAD, OPTIONS"
    answer = Client().head(path)
    assert (answer.status_code, answer.content) == (200, b"")
    answer = fetch(path)
    assert answer["Content-Type"] == "text/calendar; charset=utf-8"
    assert "no-store" in answer["Cache-Control"]


def test_fetching_is_limited_for_right_and_for_wrong_addresses(
    site: Site, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    path = make_link(make.make_user("ada", site=site, role=DefaultRole.READER))
    monkeypatch.setattr(calendars, "LIMIT", 2)
    answers = [fetch(path) for _ in range(6)]
    assert 429 in {one.status_code for one in answers}
    assert "Retry-After" in answers[-1]
    settings.AUTH_FAILURE_LIMIT = 2
    assert 429 in {fetch("/calendar/lc_wrong.ics").status_code for _ in range(6)}


def test_the_address_reaches_no_log_line(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    path = make_link(make.make_user("ada", site=site, role=DefaultRole.READER))
    secret = path.removeprefix("/calendar/").removesuffix(".ics")
    with caplog.at_level(logging.DEBUG):
        fetch(path)
        Client().post(path)
        fetch(path.replace(".ics", "x.ics"))
        fetch(path + "/")
    from records.operations.logs import JsonFormatter

    lines = [JsonFormatter().format(record) for record in caplog.records]
    assert any("Calendar" in line for line in lines)
    assert not [line for line in lines if secret[:20] in line]


def test_a_calendar_costs_the_same_queries_however_much_is_due(site: Site) -> None:
    ada = make.make_user("ada", site=site, role=DefaultRole.READER)
    make_action(site, owner=ada, due_date=in_days(1))
    path = make_link(ada)
    fetch(path)
    with CaptureQueriesContext(connection) as few:
        fetch(path)
    for number in range(5):
        make_action(site, owner=ada, due_date=in_days(number))
    with CaptureQueriesContext(connection) as many:
        fetch(path)
    assert len(few) == len(many)


def test_a_service_account_has_no_link(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    robot = make.make_user("robot", site=site, role=DefaultRole.READER, is_service_account=True)
    assert "Calendar link" not in text_of(client.get(f"/profile/?account={robot.pk}"))


def test_an_audit_moves_with_its_due_date_under_the_same_uid(site: Site) -> None:
    ada = make.make_user("ada", site=site, role=DefaultRole.MANAGER)
    employee = make.make_employee(site, id=ada.pk)
    Employee.objects.filter(pk=employee.pk).update(user=ada)
    program = make_program(site, name="GMP", auditors=[employee])
    audit = make_audit(program, due_date=in_days(4))
    path = make_link(ada)
    [before] = events(path)
    type(audit).objects.filter(pk=audit.pk).update(due_date=in_days(9))
    [after] = events(path)
    assert before["UID"] == after["UID"]
    assert after["DTSTART;VALUE=DATE"] == f"{in_days(9):%Y%m%d}"
