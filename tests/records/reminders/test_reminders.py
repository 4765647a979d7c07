"""Reminders: what they say, to whom, once a day, how often somebody wants them, and when their superior is told."""

import datetime
import functools
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.core import mail
from django.urls import reverse
from django_tasks_db.models import DBTaskResult

from documents import reading, rejections
from documents.models import DocumentVersion
from records.accounts.actions import end_access, set_members
from records.accounts.models import DefaultRole, User
from records.actions.models import Status
from records.complaints import actions as complaint_actions
from records.employees.models import Employee
from records.history.models import Change
from records.history.trail import now
from records.operations import stored_mails
from records.reminders import contents, tasks
from records.reminders.actions import choose_frequency
from records.reminders.models import Frequency, Preference, Reminder
from records.reminders.tasks import remind, send_reminders
from records.sites.models import Site
from tests import make
from tests.make import audits as make_audits
from tests.make.actions import make_action, move
from tests.make.backoffice import address, browser, sign_in
from tests.make.complaints import make_complaint
from tests.make.documents import add_version, make_document, sign, version_of

TUESDAY = datetime.datetime(2026, 3, 10, 9, 0, tzinfo=datetime.UTC)
MONDAY = TUESDAY - datetime.timedelta(days=1)
DAY = datetime.timedelta(days=1)
MANAGER = DefaultRole.MANAGER


def day(offset: int) -> datetime.datetime:
    """Return midnight UTC of the day that many days after the Tuesday, as days are stored."""
    return datetime.datetime(2026, 3, 10, tzinfo=datetime.UTC) + offset * DAY


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets the moment which reminders take for now; at first that Tuesday at nine."""

    def set_to(moment: datetime.datetime) -> None:
        for module in (tasks, stored_mails):
            monkeypatch.setattr(module, "now", lambda: moment)

    set_to(TUESDAY)
    return set_to


def person(site: Site, name: str, role: DefaultRole = MANAGER, **fields: Any) -> User:
    """Make a person with an address."""
    facts = {"given_name": name, "family_name": "", "email": f"{name.lower()}@example.org", **fields}
    return make.make_user(site=site, role=role, **facts)


def employ(site: Site, user: User, superior: Employee | None = None) -> Employee:
    """Make the employee of an account."""
    values = {"first_name": user.given_name, "last_name": "", "reporting_to": superior}
    employee = make.make_employee(site, id=user.pk, **values)
    Employee.objects.filter(pk=employee.pk).update(user=user)
    return employee


def lines_of(user: User, today: datetime.date | None = None, **more: Any) -> dict[str, list[str]]:
    """Return what the person's reminder says, by heading."""
    parts = contents.parts_for(User.objects.get(pk=user.pk), today or TUESDAY.date(), **more)
    return {part.title: [line.text for line in part.lines] for part in parts}


def work() -> list[str]:
    """Let a worker write down and send what is due, and return whom mails went to."""
    mail.outbox.clear()
    remind.func()
    send_reminders.func()
    return [address for message in mail.outbox for address in message.to]


def test_a_reminder_tells_overdue_today_and_the_next_seven_days_apart(site: Site) -> None:
    ada = person(site, "Ada")
    for name, offset in (("Late", -1), ("Now", 0), ("Soon", 7), ("Far", 8)):
        make_action(site, owner=ada, name=name, due_date=day(offset))
    make_action(site, name="Somebody else's", due_date=day(-1))
    assert lines_of(ada) == {
        "Overdue": ["Action 1: Late"],
        "Due today": ["Action 2: Now"],
        "Due within 7 days": ["Action 3: Soon"],
    }


def test_a_due_date_is_the_same_day_everywhere_whatever_time_of_day_was_sent(site: Site) -> None:
    Site.objects.filter(pk=site.pk).update(time_zone="Pacific/Auckland")
    ada = person(site, "Ada")
    make_action(site, owner=ada, name="Late", due_date=day(-1) + datetime.timedelta(hours=22))
    assert lines_of(ada) == {"Overdue": ["Action 1: Late"]}
    assert "overdue since 2026-03-09" in sign_in(ada, site).get("/admin/").content.decode()


def test_what_a_page_says_about_a_reading_the_mail_says_too(site: Site, other_site: Site) -> None:
    Site.objects.filter(pk=site.pk).update(time_zone="Pacific/Auckland")
    ada = person(other_site, "Ada")
    role = make.make_role(site, ["documents.view_document"], name="Bakers")
    set_members(role, add=[ada], author=make.SYSTEM)
    version = version_of(make_document(site, must_read=[role]))
    since = TUESDAY - 14 * DAY + datetime.timedelta(hours=6)  # in Auckland early on the day after
    DocumentVersion.objects.update(created=since, in_force_since=since)
    version.refresh_from_db()
    [part] = contents.parts_for(ada, TUESDAY.date())
    assert [line.day for line in part.lines] == [reading.due(version).date()] == [day(1).date()]


def test_every_kind_of_record_reminds_its_owner(site: Site) -> None:
    ada = person(site, "Ada")
    employee = employ(site, ada)
    make_action(site, owner=ada, name="Fix it", due_date=day(1))
    complaint = make_complaint(site)
    complaint_actions.update_complaint_detail(
        site.pk, complaint.pk, {"owner": ada, "target_date": day(1)}, author=make.SYSTEM, may_change_completed=False
    )
    audit = make_audits.make_audit(make_audits.make_program(site, name="GMP", auditors=[employee]), due_date=day(1))
    make_document(site, name="Old", author=make.author_of(ada), review_date=day(1))
    make_document(site, name="New", user_to_review=[ada])
    role = make.make_role(site, ["items.view_item"], [ada])
    make_document(site, name="Rules", must_read=[role])
    [texts] = lines_of(ada).values()
    assert sorted(texts) == [
        "Action 1: Fix it",
        f"Answer {complaint}",
        f"Audit 1: {audit}",
        "Review the document Old, whose review is due",
    ]
    later = lines_of(ada, (datetime.datetime.now(datetime.UTC) + 30 * DAY).date())["Overdue"]
    assert "Read the document Rules, version 1" in later
    assert "Review the document New, version 1" in later


def test_an_audit_reminds_its_auditor_only_where_their_role_may_carry_it_out(site: Site) -> None:
    superior, ada = person(site, "Bea"), person(site, "Ada", DefaultRole.READER)
    employee = employ(site, ada, employ(site, superior))
    program = make_audits.make_program(site, name="GMP", auditors=[employee])
    audit = make_audits.make_audit(program, due_date=day(-9))
    assert lines_of(ada) == {}
    assert list(lines_of(superior).values()) == [[f"Audit 1: {audit}"]]
    make.give_role(ada, site, MANAGER)
    assert lines_of(ada) == {"Overdue": [f"Audit 1: {audit}"]}


def test_what_is_done_or_not_to_be_seen_any_more_reminds_nobody(site: Site, other_site: Site) -> None:
    ada = person(site, "Ada")
    move(make_action(site, owner=ada, due_date=day(0)), Status.DONE, ada)
    make.give_role(ada, other_site, MANAGER)
    make_action(other_site, owner=ada, name="Elsewhere", due_date=day(0))
    assert lines_of(ada) == {"Due today": ["Action 1: Elsewhere"]}
    Site.objects.filter(pk=other_site.pk).update(is_archived=True)
    assert lines_of(ada) == {}


def test_one_mail_a_person_and_day_however_often_the_workers_run(site: Site, clock: Any) -> None:
    ada = person(site, "Ada")
    make_action(site, owner=ada, name="Fix it", due_date=day(0))
    assert work() == ["ada@example.org"]
    [message] = mail.outbox
    assert message.subject == "Larder: 1 thing to do"
    assert "Due today\n- Action 1: Fix it, Hillside Bakery, due 2026-03-10" in message.body
    assert work() == []
    clock(TUESDAY + DAY)
    assert work() == ["ada@example.org"]
    assert Reminder.objects.count() == 2


def test_a_mail_carries_no_link_that_signs_anybody_in(site: Site, clock: Any) -> None:
    ada = person(site, "Ada")
    action = make_action(site, owner=ada, due_date=day(0))
    work()
    [message] = mail.outbox
    links = [word for word in str(message.body).split() if word.startswith("http")]
    base = settings.BASE_URL
    assert links == [f"{base}/admin/actions/action/{action.pk}/", f"{base}/admin/reminders/"]
    assert message.extra_headers["Message-ID"].startswith(f"<{Reminder.objects.get().pk}@")


def test_nothing_goes_out_before_six_on_the_clocks_of_the_home_site(site: Site, other_site: Site, clock: Any) -> None:
    Site.objects.filter(pk=site.pk).update(time_zone="Pacific/Auckland")
    Site.objects.filter(pk=other_site.pk).update(time_zone="America/Los_Angeles")
    east, west = person(site, "East", home_site=site), person(other_site, "West", home_site=other_site)
    make_action(site, owner=east, due_date=day(1))
    make_action(other_site, owner=west, due_date=day(1))
    # At 9:00 UTC it is 22:00 in Auckland, and 2:00 in Los Angeles.
    assert work() == ["east@example.org"]
    clock(TUESDAY + datetime.timedelta(hours=5))
    assert work() == ["west@example.org"]
    assert {reminder.day for reminder in Reminder.objects.all()} == {TUESDAY.date()}


@pytest.mark.parametrize(
    ("frequency", "on_tuesday", "on_monday"),
    [
        (Frequency.DAILY, {"Overdue", "Due within 7 days"}, {"Overdue", "Due within 7 days"}),
        (Frequency.WEEKLY, set(), {"Overdue", "Due within 7 days"}),
        (Frequency.OFF, set(), {"Overdue"}),
    ],
)
def test_somebody_chooses_daily_weekly_or_off(
    site: Site, clock: Any, frequency: Frequency, on_tuesday: set[str], on_monday: set[str]
) -> None:
    ada = person(site, "Ada")
    client, page = browser(site, user=ada), reverse("admin:reminders")
    make_action(site, owner=ada, due_date=day(-3))
    make_action(site, owner=ada, due_date=day(3))
    assert client.post(page, {"frequency": "Never"}).status_code == 200
    assert client.post(page, {"frequency": frequency.value}).status_code == 302
    for moment, expected in ((TUESDAY, on_tuesday), (MONDAY, on_monday)):
        clock(moment)
        body = str(mail.outbox[0].body) if work() else ""
        assert {title for title in ("Overdue", "Due today", "Due within 7 days") if f"\n{title}\n" in body} == expected


def test_choosing_is_one_change_and_choosing_the_same_again_none(site: Site) -> None:
    ada = person(site, "Ada")
    client, page = browser(site, user=ada), reverse("admin:reminders")
    for _ in range(2):
        client.post(page, {"frequency": "Weekly"})
    assert Preference.objects.get(user=ada).frequency == Frequency.WEEKLY
    change = Change.objects.get(operation="ChooseReminders")
    assert (change.author_id, [entry["field"] for entry in change.fields]) == (ada.pk, ["frequency"])


def test_a_superior_is_told_after_seven_days(site: Site, clock: Any) -> None:
    boss, ada = person(site, "Boss"), person(site, "Ada", DefaultRole.READER)
    employ(site, ada, employ(site, boss))
    make_action(site, owner=ada, name="Seven", due_date=day(-7))
    assert lines_of(boss) == {}
    make_action(site, owner=ada, name="Eight", due_date=day(-8))
    assert lines_of(boss) == {str(contents.STAFF): ["Action 2: Eight"]}
    assert sorted(work()) == ["ada@example.org", "boss@example.org"]
    [body] = [str(message.body) for message in mail.outbox if message.to == ["boss@example.org"]]
    assert "- Action 2: Eight (Ada), Hillside Bakery" in body
    assert "Seven" not in body
    end_access(ada, author=make.SYSTEM, reason="Left")
    assert lines_of(boss) == {str(contents.STAFF): ["Action 2: Eight"]}, "Nobody else is told what Ada has left behind."


def test_a_superior_opens_the_document_and_not_the_page_on_which_only_their_staff_can_act(site: Site) -> None:
    boss, ada = person(site, "Boss"), person(site, "Ada")
    employ(site, ada, employ(site, boss))
    role = make.make_role(site, ["items.view_item"], [ada])
    rules, plan = (
        make_document(site, name="Rules", must_read=[role]),
        make_document(site, name="Plan", user_to_review=[ada]),
    )
    later = (now() + 60 * DAY).date()
    staff = {part.title: part for part in contents.parts_for(boss, later)}[str(contents.STAFF)]
    assert {line.page for line in staff.lines} == {address(rules, "read"), address(plan, "read")}
    client = browser(site, user=boss)
    assert all(client.get(line.page).status_code == 200 for line in staff.lines)
    own = {part.title: part for part in contents.parts_for(ada, later)}["Overdue"]
    assert {line.page for line in own.lines} == {
        reverse("admin:documents_read", args=(version_of(rules).pk,)),
        reverse("admin:documents_sign", args=(version_of(plan).pk,)),
    }


def test_a_rejected_version_reminds_its_uploader_and_late_their_superior(site: Site) -> None:
    boss, ada, reviewer = person(site, "Boss"), person(site, "Ada"), person(site, "Rex")
    employ(site, ada, employ(site, boss))
    document = make_document(site, name="Rules {0}", author=make.author_of(ada), user_to_review=[reviewer])
    version = sign(version_of(document), reviewer, "reject", comment="Not yet.")
    today = version.signatures.get().date.astimezone(contents.zone_for(ada)).date()
    text = "Change the document Rules {0}, whose version 1 was rejected"
    assert lines_of(ada, today) == {"Due within 7 days": [text]}
    assert lines_of(boss, today + 14 * DAY) == {}
    [staff] = contents.parts_for(boss, today + 15 * DAY)
    assert [(line.text, line.owner, line.page) for line in staff.lines] == [(text, "Ada", address(document, "read"))]
    assert {ada.pk, boss.pk} <= contents.everybody(today + 15 * DAY)
    rejections.dismiss(version, ada)
    assert (lines_of(ada, today), lines_of(boss, today + 15 * DAY)) == ({}, {})
    assert contents.everybody(today) == set()


def test_a_rejected_version_of_a_service_account_reminds_who_may_change_the_document(site: Site) -> None:
    service = person(site, "Erp", is_service_account=True)
    ada, reviewer = person(site, "Ada"), person(site, "Rex", DefaultRole.STANDARD)
    partial = make.make_user(site=site, email="partial@example.org")
    make.make_role(site, ["documents.view_document", "documents.change_document"], [partial])
    document = make_document(site, name="Rules", author=make.author_of(service), user_to_review=[reviewer])
    version = sign(version_of(document), reviewer, "reject", comment="Not yet.")
    today = version.signatures.get().date.astimezone(contents.zone_for(ada)).date()
    text = "Change the document Rules, whose version 1 was rejected"
    assert contents.everybody(today) == {ada.pk}
    assert lines_of(ada, today) == {"Due within 7 days": [text]}
    assert (lines_of(reviewer, today), lines_of(partial, today)) == ({}, {})
    rejections.dismiss(version, ada)
    assert lines_of(ada, today) == {}


def test_nobody_is_reminded_to_review_a_document_that_is_hidden_from_them(site: Site) -> None:
    partial = make.make_user(site=site)
    make.make_role(site, ["documents.view_document", "documents.change_document"], [partial])
    fields: dict[str, Any] = {"review_date": day(0), "user_to_review": [partial]}
    document = make_document(site, name="Rules", author=make.author_of(partial), **fields)
    assert "Review the document Rules, whose review is due" in str(lines_of(partial))
    # Somebody else's newer version, which the person does not see, waits for its review by a third person.
    other = person(site, "Rex")
    add_version(document, author=make.author_of(other), review_date=day(0), user_to_review=[other])
    assert lines_of(partial) == {}


def test_who_has_no_address_no_access_or_nothing_to_do_gets_no_mail(site: Site, clock: Any) -> None:
    silent, leaver = person(site, "Silent", email=""), person(site, "Gone")
    person(site, "Idle")
    for owner in (silent, leaver):
        make_action(site, owner=owner, due_date=day(0))
    User.objects.filter(pk=leaver.pk).update(is_active=False)
    assert work() == []
    assert not Reminder.objects.exists()


def test_a_mail_that_fails_is_sent_later_and_once(site: Site, clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    make_action(site, owner=person(site, "Ada"), due_date=day(0))

    def fail(*args: Any) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr("django.core.mail.EmailMessage.send", fail)
        assert work() == []
    assert Reminder.objects.get().last_error == "OSError"
    assert work() == [], "The next attempt is not due yet."
    clock(TUESDAY + datetime.timedelta(minutes=2))
    assert work() == ["ada@example.org"]
    clock(TUESDAY + datetime.timedelta(hours=2))
    assert work() == []


def test_what_a_killed_worker_had_taken_comes_up_again_under_the_same_message_id(site: Site, clock: Any) -> None:
    make_action(site, owner=person(site, "Ada"), due_date=day(0))
    remind.func()
    reminder = Reminder.objects.get()
    # The worker takes it and is killed.
    assert stored_mails.take(Reminder.objects.filter(pk=reminder.pk))
    assert work() == []
    DBTaskResult.objects.all().delete()
    assert not tasks.is_waiting()
    clock(TUESDAY + stored_mails.LEASE)
    assert tasks.is_waiting()
    assert work() == ["ada@example.org"]
    assert str(reminder.pk) in mail.outbox[0].extra_headers["Message-ID"]


def test_a_choice_made_on_the_day_counts_for_the_mail_that_is_still_to_be_sent(site: Site, clock: Any) -> None:
    ada = person(site, "Ada")
    make_action(site, owner=ada, name="Fix it", due_date=day(0))
    remind.func()
    choose_frequency(ada, Frequency.WEEKLY, author=make.author_of(ada))
    assert work() == []
    choose_frequency(ada, Frequency.DAILY, author=make.author_of(ada))
    assert work() == ["ada@example.org"]
    assert work() == []


def test_a_mail_that_could_not_be_sent_on_its_day_leaves_the_next_day_with_one(site: Site, clock: Any) -> None:
    ada, weekly = person(site, "Ada"), person(site, "Weekly")
    choose_frequency(weekly, Frequency.WEEKLY, author=make.author_of(weekly))
    for owner in (ada, weekly):
        make_action(site, owner=owner, due_date=day(0))
    clock(MONDAY)
    remind.func()
    # No mail server and no worker until the next day.
    clock(TUESDAY - datetime.timedelta(hours=6))
    send_reminders.func()
    assert [message.to for message in mail.outbox] == [["weekly@example.org"]]
    clock(TUESDAY)
    assert work() == ["ada@example.org"]


@pytest.mark.parametrize(
    ("zone", "before"),
    [
        ("Europe/Berlin", "2026-03-28"),
        ("Europe/Berlin", "2026-10-24"),
        ("Australia/Lord_Howe", "2026-04-04"),
        ("America/Havana", "2026-10-31"),
    ],
)
def test_when_the_clocks_change_each_day_brings_one_mail_at_six(
    site: Site, clock: Any, monkeypatch: pytest.MonkeyPatch, zone: str, before: str
) -> None:
    # Who has something due changes with the date alone here, and takes nine tenths of the time.
    monkeypatch.setattr(tasks, "everybody", functools.cache(contents.everybody))
    Site.objects.filter(pk=site.pk).update(time_zone=zone)
    ada = person(site, "Ada", home_site=Site.objects.get(pk=site.pk))
    make_action(site, owner=ada, due_date=day(0))
    # From the midnight that begins the day before the change; the worker asks once in half an hour.
    moment = (
        datetime.datetime.fromisoformat(f"{before}T00:00:00").replace(tzinfo=ZoneInfo(zone)).astimezone(datetime.UTC)
    )
    times = []
    for half_hours in range(2 * 72 - 4):
        at = moment + datetime.timedelta(minutes=30 * half_hours)
        clock(at)
        times += [at.astimezone(ZoneInfo(zone))] * remind.func()
    first = datetime.date.fromisoformat(before)
    assert [local.date() for local in times] == [first, first + DAY, first + 2 * DAY]
    assert {local.hour for local in times} == {6}


@pytest.mark.django_db(transaction=True)
def test_several_workers_at_once_send_one_mail(site: Site, clock: Any) -> None:
    """Each of them stores what is due, and each sends what it finds, at the same moment as the others."""
    people = [person(site, name) for name in ("Ada", "Bea", "Cleo")]
    for owner in people:
        make_action(site, owner=owner, due_date=day(0))
    assert sum(make.at_once(*[remind.func] * 4)) >= 3
    assert Reminder.objects.count() == 3
    assert sum(make.at_once(*[send_reminders.func] * 4)) == 3
    assert sorted(address for message in mail.outbox for address in message.to) == sorted(one.email for one in people)
    assert not Reminder.objects.exclude(attempts=1, sent__isnull=False).exists()


def test_the_page_shows_what_would_be_sent(site: Site) -> None:
    ada = person(site, "Ada")
    client, page = browser(site, user=ada), reverse("admin:reminders")
    assert "You have nothing that is overdue" in client.get(page).content.decode()
    make_action(site, owner=ada, name="Fix it", due_date=day(0))
    make_action(site, name="Somebody else's", due_date=day(0))
    text = client.get(page).content.decode()
    assert "Action 1: Fix it" in text
    assert "Somebody else" not in text
    assert page in client.get("/admin/").content.decode()
    nobody = person(site, "Nobody", email="")
    assert "has no e-mail address" in browser(site, user=nobody).get(page).content.decode()


def test_the_page_says_when_a_mail_comes_to_somebody_who_does_not_want_one_every_day(site: Site) -> None:
    ada = person(site, "Ada")
    client, page = browser(site, user=ada), reverse("admin:reminders")
    make_action(site, owner=ada, name="Fix it", due_date=now() + DAY)
    assert "Mondays" not in client.get(page).content.decode().partition("</form>")[2]
    client.post(page, {"frequency": "Weekly"})
    text = client.get(page).content.decode()
    assert "Your mail comes on Mondays." in text
    assert "Action 1: Fix it" in text
    client.post(page, {"frequency": "Off"})
    text = client.get(page).content.decode()
    assert "Action 1: Fix it" not in text
    assert "You have nothing that is overdue, so no mail is sent." in text


def test_the_worker_looks_for_reminders_every_ten_minutes() -> None:
    assert settings.REGULAR_JOBS[remind.module_path] == datetime.timedelta(minutes=10)
