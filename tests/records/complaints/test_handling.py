"""How staff handle complaints: owner, severity, target date, cause, correction and answer, and what is overdue."""

import datetime
import zoneinfo
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.complaints import actions
from records.complaints.models import HANDLING, Complaint, Severity
from records.dashboard.figures import complaints as figures
from records.dashboard.figures.delays import delays
from records.dashboard.figures.periods import Period
from records.history.models import Change
from records.history.trail import now
from records.reference.models import Cause
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.backoffice import address, browser, form_of, list_address, press, save
from tests.make.complaints import make_complaint, make_completed, make_draft, make_entry
from tests.make.figures import noon

UTC = zoneinfo.ZoneInfo("UTC")
STANDARD, MANAGER, READER = DefaultRole.STANDARD, DefaultRole.MANAGER, DefaultRole.READER


def day(text: str) -> datetime.datetime:
    """Return midnight UTC of a day, as days are stored."""
    return datetime.datetime.fromisoformat(f"{text}T00:00:00+00:00")


def handle(complaint: Complaint, **values: Any) -> Complaint:
    """Change how a complaint is handled, as the back-office does."""
    return actions.update_complaint_detail(
        complaint.site_id, complaint.pk, values, author=make.SYSTEM, may_change_completed=True, reason="Triage"
    )


def numbers(client: Any, query: str) -> list[int | None]:
    """Return the numbers of the complaints that the list shows under a query, lowest first."""
    page = client.get(f"{list_address(Complaint)}?{query}")
    assert page.status_code == 200
    return sorted(row.site_sequence_id for row in page.context["cl"].result_list)


def test_a_complaint_gets_owner_severity_target_cause_correction_and_answer(site: Site) -> None:
    owner, client = make.make_user(site=site, role=READER), browser(site, STANDARD)
    complaint, cause = make_complaint(site, date=noon("2026-03-05")), make_entry(Cause, site, "Supplier")
    answer = save(
        client,
        complaint,
        owner=str(owner.pk),
        severity="Critical",
        target_date="2026-03-10",
        cause=str(cause.pk),
        correction="Lot held.",
        answered_on="2026-03-07",
        change_reason="Triage",
    )
    assert answer.status_code == 302
    complaint.refresh_from_db()
    assert (complaint.owner, complaint.severity, complaint.cause) == (owner, Severity.CRITICAL, cause)
    assert (complaint.target_date, complaint.answered_on) == (day("2026-03-10"), day("2026-03-07"))
    change = Change.objects.filter(record_id=complaint.pk).latest("number")
    assert {entry["field"] for entry in change.fields} == set(HANDLING)
    assert change.reason == "Triage"


def test_triage_asks_for_owner_severity_and_target_date_alone(site: Site, other_site: Site) -> None:
    owner, complaint = make.make_user(site=site, role=STANDARD), make_complaint(site)
    client = browser(site, STANDARD)
    step = reverse("admin:complaints_complaint_step", args=(complaint.pk, "triage"))
    assert f'href="{step}"' in client.get(address(complaint, "read")).text
    assert step not in browser(site, READER).get(address(complaint, "read")).text
    data = {"owner": str(owner.pk), "severity": "Major", "target_date": "2031-05-01"}
    stranger = make.make_user(site=other_site, role=STANDARD)
    for faulty in ({"severity": ""}, {"target_date": "soon"}, {"owner": str(stranger.pk)}):
        assert press(client, step, {**data, **faulty}).status_code == 200
    assert press(client, step, data).status_code == 302
    complaint.refresh_from_db()
    assert (complaint.owner, complaint.severity, complaint.target_date) == (owner, "Major", day("2031-05-01"))
    change = Change.objects.filter(record_id=complaint.pk).latest("number")
    assert change.operation == "TriageComplaint"
    assert {entry["field"] for entry in change.fields} == {"owner", "severity", "target_date"}
    assert step not in client.get(address(complaint, "read")).text


def test_a_new_complaint_and_a_draft_are_not_handled_yet(site: Site) -> None:
    client, draft = browser(site, MANAGER), make_draft(site)
    for page in (client.get(address(draft)), client.get("/admin/complaints/complaint/add/")):
        assert not set(HANDLING) & form_of(page).keys()
    owner = make.make_user(site=site, role=READER)
    client.post(address(draft), {**form_of(client.get(address(draft))), "owner": str(owner.pk)})
    draft.refresh_from_db()
    assert draft.owner is None


def test_only_managers_change_how_a_completed_complaint_was_handled(site: Site) -> None:
    complaint = make_completed(site, date=noon("2026-03-05"))
    assert "severity" not in form_of(browser(site, STANDARD).get(address(complaint)))
    manager = browser(site, MANAGER)
    assert save(manager, complaint, answered_on="2026-03-09", change_reason="Late").status_code == 302
    complaint.refresh_from_db()
    assert complaint.answered_on == day("2026-03-09")
    assert "severity" not in form_of(browser(site, READER).get(address(make_complaint(site))))


def test_an_owner_or_a_cause_of_another_site_is_refused(site: Site, other_site: Site) -> None:
    complaint = make_complaint(site)
    for values in ({"owner": make.make_user(site=other_site, role=MANAGER)}, {"cause": make_entry(Cause, other_site)}):
        with pytest.raises(ValidationError) as error_info:
            handle(complaint, **values)
        assert set(error_info.value.message_dict) == set(values)
    complaint.refresh_from_db()
    assert (complaint.owner, complaint.cause) == (None, None)


def test_an_answer_lies_neither_before_the_complaint_nor_in_the_future(site: Site) -> None:
    Site.objects.filter(pk=site.pk).update(time_zone="Pacific/Auckland")
    # In Auckland it is the 6th already.
    complaint = make_complaint(site, date=noon("2026-03-05"))
    for wrong in (day("2026-03-05"), day("2999-01-01")):
        with pytest.raises(ValidationError, match="The date of the answer is"):
            handle(complaint, answered_on=wrong)
    assert handle(complaint, answered_on=day("2026-03-06")).answered_on == day("2026-03-06")


def test_the_interface_keeps_the_documented_shape_and_the_feed_names_the_handling(api: Api, site: Site) -> None:
    complaint = handle(make_complaint(site), severity=Severity.MAJOR, target_date=day("2026-03-10"))
    body = api.get(f"/complaint/GetComplaint/{complaint.pk}").json()
    assert not {"OwnerId", "Severity", "TargetDate", "CauseId", "Correction", "AnsweredOn"} & body.keys()
    feed = api.get("/change/GetChangeList?entity=Complaint").json()
    assert feed[-1]["Operation"] == "UpdateComplaintDetail"
    assert set(feed[-1]["Fields"]) == {"Severity", "TargetDate"}


def test_the_list_shows_what_to_triage_what_is_overdue_and_what_is_mine(site: Site) -> None:
    user = make.make_user(site=site, role=STANDARD)
    client = browser(site, user=user)
    new, mine, overdue, with_answer = (make_complaint(site, date=noon("2026-03-05")) for _ in range(4))
    far = {"owner": user, "severity": Severity.MINOR, "target_date": day("2999-01-01")}
    handle(mine, **far)
    handle(overdue, **{**far, "owner": make.make_user(site=site, role=READER), "target_date": day("2026-03-06")})
    handle(with_answer, **{**far, "target_date": day("2026-03-06"), "answered_on": day("2026-03-20")})
    make_completed(site)
    make_draft(site)
    assert numbers(client, "triage=needed") == [new.site_sequence_id]
    assert numbers(client, "due=overdue") == [overdue.site_sequence_id]
    assert numbers(client, "mine=yes") == [mine.site_sequence_id, with_answer.site_sequence_id]
    assert numbers(client, "mine=yes&answered_on__isnull=True") == [mine.site_sequence_id]
    assert numbers(client, "response=14") == []
    assert numbers(client, "response=30") == [with_answer.site_sequence_id]
    page = client.get(f"{list_address(Complaint)}?due=overdue").content.decode()
    assert 'class="tag overdue"' in page
    assert 'class="tag overdue"' not in client.get(f"{list_address(Complaint)}?response=30").content.decode()


def test_response_times_causes_and_ageing_are_counted(site: Site) -> None:
    period = Period(datetime.date(2026, 3, 1), datetime.date(2026, 3, 1), UTC, datetime.date(2026, 3, 31))
    supplier, people = (make_entry(Cause, site, name) for name in ("Supplier", "People"))
    for answer_day, target, cause in (
        ("2026-03-05", "2026-03-05", supplier),
        ("2026-03-08", "2026-03-07", supplier),
        ("2026-03-09", "2026-03-31", people),
        ("2026-03-31", None, None),
        ("2026-04-20", None, None),
    ):
        values = {"answered_on": day(answer_day), "cause": cause, "target_date": day(target) if target else None}
        handle(make_complaint(site, date=noon("2026-03-05")), **values)
    counts = figures.responses(figures.counted_complaints(site.pk), period)
    # Answered the same day and after three days; after four; none in 8 to 14; after 26. The fifth came in April.
    assert (counts.spans, counts.with_target, counts.by_target) == ([2, 1, 0, 1, 0], 3, 2)
    total = figures.with_cause(figures.counted_complaints(site.pk), period)
    shares = figures.paretos(figures.counted_complaints(site.pk), period, {"cause": total})["cause"]
    assert [(share.name, share.count, round(share.cumulative, 2)) for share in shares] == [
        ("Supplier", 2, 0.67),
        ("People", 1, 1.0),
    ]
    handle(make_complaint(site, date=noon("2026-03-05")), target_date=day("2026-03-30"))
    waiting = delays(figures.waiting_for_answer(figures.counted_complaints(site.pk)), period.today, "target_date")
    assert [delay.count for delay in waiting] == [0, 0, 1, 0]


def test_the_start_page_shows_my_complaints_the_triage_and_the_charts(site: Site) -> None:
    manager = make.make_user(site=site, role=MANAGER)
    client, yesterday = browser(site, user=manager), now() - datetime.timedelta(days=1)
    overdue = handle(make_complaint(site), owner=manager, severity="Major", target_date=yesterday)
    new = make_complaint(site)
    page = client.get("/admin/")
    sections = {section.key: section for section in page.context["waiting"]}
    assert [row.name for row in sections["answer"].rows] == [str(overdue)]
    assert sections["answer"].rows[0].is_late
    assert [row.name for row in sections["triage"].rows] == [str(new)]
    charts = {chart.key: chart for chart in page.context["charts"]}
    assert charts["by-cause"].empty
    assert charts["responses"].empty
    assert "1 overdue today" in charts["waiting"].description
    for section in ("answer", "triage"):
        assert client.get(sections[section].list_url).status_code == 200
    handle(overdue, answered_on=now().replace(hour=0, minute=0, second=0, microsecond=0), cause=make_entry(Cause, site))
    page = client.get("/admin/")
    charts = {chart.key: chart for chart in page.context["charts"]}
    assert "1 complaint was answered" in charts["responses"].description
    for chart in ("by-cause", "responses"):
        (row,) = [row for row in charts[chart].table.rows if row[0].url]
        assert "1 complaint" in client.get(row[0].url).content.decode()
