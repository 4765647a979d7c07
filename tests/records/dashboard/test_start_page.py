"""The start page: what waits for whom, what charts show, and what the page costs."""

import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole, User
from records.actions.models import Status
from records.dashboard import start
from records.dashboard.figures.periods import read_period
from records.employees.models import Employee
from records.history.trail import now
from records.sites.models import Site
from tests import make
from tests.make import audits as make_audits
from tests.make.actions import make_action, move
from tests.make.backoffice import browser, sign_in
from tests.make.complaints import make_completed, make_draft, required_of
from tests.make.documents import make_document, sign, version_of
from tests.make.figures import make_complaints, noon

START = reverse("admin:index")
without_charts = pytest.mark.usefixtures("_no_charts")
"""Marks a test of what waits: the charts take half of the page's time."""


@pytest.fixture
def _no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "charts_for", lambda *_: [])


def page(client: Any, **query: str) -> Any:
    response = client.get(START, query)
    assert response.status_code == 200
    return response


def waits(response: Any) -> dict[str, int]:
    return {section.key: section.total for section in response.context["waiting"]}


def charts(response: Any) -> dict[str, Any]:
    return {chart.key: chart for chart in response.context["charts"]}


def test_an_empty_site_says_what_to_do_next(site: Site) -> None:
    response = page(browser(site))
    assert waits(response) == {}
    text = response.content.decode()
    assert "No document waits for your review or approval." in text
    assert "No complaints in" in text
    assert all(chart.empty for chart in charts(response).values())
    assert len(charts(response)) == 12


def test_who_holds_no_role_is_told_whom_to_ask(site: Site) -> None:
    response = page(sign_in(make.make_user()))
    assert "You do not have a role at any active site." in response.content.decode()
    assert response.context["charts"] == []


@without_charts
def test_a_document_waits_for_its_reviewer_and_for_nobody_else(site: Site, other_site: Site) -> None:
    reviewer = make.make_user(site=site, role=DefaultRole.READER)
    document = make_document(site, name="Hygiene rules", user_to_review=[reviewer])
    response = page(browser(site, user=reviewer))
    assert waits(response) == {"sign": 1}
    [section] = response.context["waiting"]
    assert (section.rows[0].name, section.rows[0].task) == (f"{document.name}, version 1", "Review")
    assert browser(site, user=reviewer).get(section.rows[0].url).status_code == 200
    assert "sign" not in waits(page(browser(site)))


@without_charts
def test_complaints_wait_for_who_may_complete_them_at_that_site(site: Site, other_site: Site) -> None:
    make_complaints(site, [noon("2026-03-10")] * 7)
    make_completed(site)
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    make.give_role(manager, other_site, DefaultRole.MANAGER)
    client = sign_in(manager, site)
    response = page(client)
    assert waits(response) == {"triage": 7, "complete": 7}
    [section] = [section for section in response.context["waiting"] if section.key == "complete"]
    assert (section.total, len(section.rows), section.other_sites) == (7, 5, [])
    client.post(reverse("admin:switch-site"), {"site": str(other_site.pk)})
    response = page(client)
    assert waits(response) == {}
    [section] = [section for section in response.context["nothing_waits"] if section.key == "complete"]
    assert section.other_sites == [site.name]
    assert waits(page(browser(site, DefaultRole.STANDARD))) == {}
    assert waits(page(browser(other_site))) == {}


@without_charts
def test_a_draft_waits_for_who_began_it(site: Site) -> None:
    author = make.make_user(site=site, role=DefaultRole.STANDARD)
    draft = make_draft(site)
    type(draft).objects.filter(pk=draft.pk).update(created_by=author)
    assert waits(page(browser(site, user=author))) == {"submit": 1}
    assert waits(page(browser(site, DefaultRole.STANDARD))) == {}


@without_charts
def test_what_waits_does_so_since_a_day_of_the_sites_calendar(site: Site) -> None:
    Site.objects.filter(pk=site.pk).update(time_zone="Pacific/Auckland")
    author = make.make_user(site=site, role=DefaultRole.STANDARD)
    created = datetime.datetime(2026, 2, 1, 14, 30, tzinfo=datetime.UTC)
    type(make_draft(site)).objects.update(created_by=author, created=created)
    [section] = page(browser(site, user=author)).context["waiting"]
    assert section.rows[0].when == "since 2026-02-02"


@without_charts
def test_audits_wait_for_their_auditor_and_for_who_manages_them(site: Site) -> None:
    auditor = make.make_user(site=site, role=DefaultRole.MANAGER)
    make_due_audit(site, auditor)
    response = page(browser(site, user=auditor))
    assert waits(response) == {"audit": 1}
    [section] = response.context["waiting"]
    assert section.rows[0].is_late
    assert waits(page(browser(site))) == {"audits": 1}
    assert waits(page(browser(site, DefaultRole.STANDARD))) == {}


@without_charts
def test_an_auditor_whose_role_may_not_carry_out_audits_is_told_so(site: Site, other_site: Site) -> None:
    auditor = make.make_user(site=site, role=DefaultRole.READER)
    make_due_audit(site, auditor)
    response = page(browser(site, user=auditor))
    [section] = response.context["waiting"]
    assert (section.title, section.total) == ("Audits that name you as auditor", 1)
    assert "somebody whose role may change audits fills it in" in response.content.decode()
    assert "Audits that you carry out" not in response.content.decode()
    make.give_role(auditor, other_site, DefaultRole.MANAGER)
    assert waits(page(browser(site, user=auditor))) == {"audit-named": 1}
    make.give_role(auditor, site, DefaultRole.MANAGER)
    assert waits(page(browser(site, user=auditor))) == {"audit": 1}


def make_due_audit(site: Site, auditor: User) -> None:
    """Make an audit that the person should have carried out, and one that is due later."""
    employee = make.make_employee(site, id=auditor.pk)
    Employee.objects.filter(pk=employee.pk).update(user=auditor)
    program = make_audits.make_program(site, auditors=[employee])
    make_audits.make_audit(program, due_date=now() - datetime.timedelta(days=3))
    make_audits.make_audit(program, due_date=now() + datetime.timedelta(days=90))


@without_charts
def test_a_program_that_is_due_waits_until_an_audit_is_planned(site: Site) -> None:
    program = make_audits.make_program(site, next_due_date=now() + datetime.timedelta(days=5))
    client = browser(site)
    assert waits(page(client)) == {"schedule": 1}
    make_audits.make_audit(program, due_date=now() + datetime.timedelta(days=1))
    make_audits.make_audit(program, due_date=now() + datetime.timedelta(days=6), is_extra=True)
    assert waits(page(client)) == {"schedule": 1, "audits": 2}  # Extra ones: the regular one is still to be planned.
    make_audits.make_audit(program, due_date=now() + datetime.timedelta(days=5))
    assert waits(page(client)) == {"audits": 3}


def test_charts_need_the_permission_to_see_what_they_count(site: Site) -> None:
    make_complaints(site, [noon("2026-03-10")])
    user = make.make_user(site=site)
    make.make_role(site, ["audits.view_auditrecord"], [user])
    assert set(charts(page(sign_in(user, site)))) == {"scores", "overdue"}
    reader = charts(page(browser(site, DefaultRole.READER), **{"from": "2026-03", "to": "2026-03"}))
    assert [cell.text for cell in reader["by-month"].table.rows[0]][:2] == ["March 2026", "1"]


def test_charts_show_the_chosen_period_of_the_current_site_only(site: Site, other_site: Site) -> None:
    make_complaints(site, [noon("2025-03-10")] * 2)
    make_complaints(other_site, [noon("2025-03-10")] * 5)
    charts_by_key = charts(page(browser(site), **{"from": "2025-02", "to": "2025-04"}))
    rows = [[cell.text for cell in row] for row in charts_by_key["by-month"].table.rows]
    assert rows == [["February 2025", "0", ""], ["March 2025", "2", ""], ["April 2025", "0", ""]]
    assert [row[1].text for row in charts_by_key["by-customer"].table.rows] == ["2"]


def test_a_month_above_the_limit_is_marked_and_said(site: Site) -> None:
    make_complaints(site, [noon("2025-01-10"), noon("2025-02-10"), noon("2025-03-10"), *[noon("2025-04-10")] * 9])
    chart = charts(page(browser(site), **{"from": "2025-01", "to": "2025-04"}))["by-month"]
    # Mean 3 over four months, limit 3 + 3 x 1.73205 = 8.20: nine lie above it.
    assert chart.notes[0] == "Mean 3.00 over 4 whole months; upper control limit 8.20 (c-chart: mean + 3 √mean)."
    assert [mark.note for mark in chart.marks] == ["", "", "", "▲"]
    assert chart.table.rows[3][2].text == "above the limit"


def test_a_bars_address_lists_exactly_what_it_counts(site: Site) -> None:
    program = make_audits.make_program(site)
    for days in (3, 4, 40):
        make_audits.make_audit(program, due_date=now() - datetime.timedelta(days=days))
    client = browser(site)
    chart = charts(page(client))["overdue"]
    for row, expected in zip(chart.table.rows, (0, 1, 2, 0), strict=False):
        assert row[1].text == str(expected)
        if expected:
            response = client.get(row[0].url)
            assert response.status_code == 200
            assert len(response.context["cl"].result_list) == expected
        else:
            assert row[0].url == ""


def test_a_pareto_bar_lists_its_complaints_of_the_period_and_no_others(site: Site, other_site: Site) -> None:
    Site.objects.filter(pk=site.pk).update(time_zone="America/New_York")
    required = required_of(site)
    inside = make_complaints(site, [noon("2025-03-01"), noon("2025-04-30")], **required)
    # Midnight UTC is the day of March 1; half an hour later it is still February in New York.
    midnight = datetime.datetime(2025, 3, 1, tzinfo=datetime.UTC)
    inside += make_complaints(site, [midnight], **required)
    make_complaints(site, [midnight + datetime.timedelta(minutes=30), noon("2025-05-01")], **required)
    make_complaints(site, [noon("2025-04-01")])
    make_draft(site, date=noon("2025-04-01"), **required)
    client = browser(site)
    charts_by_key = charts(page(client, **{"from": "2025-03", "to": "2025-04"}))
    for relation in ("nonconformance", "product", "customer"):
        row = charts_by_key[f"by-{relation}"].table.rows[0]
        assert [cell.text for cell in row] == [str(required[relation]), "3", "75 %"]
        rows = client.get(row[0].url).context["cl"].result_list
        assert {complaint.pk for complaint in rows} == {complaint.pk for complaint in inside}
    [march, april] = charts_by_key["by-month"].table.rows
    for row, expected in ((march, 2), (april, 2)):
        assert row[1].text == str(expected)
        assert len(client.get(row[0].url).context["cl"].result_list) == expected


def test_drawings_are_named_pictures_without_inline_style_or_script(site: Site) -> None:
    make_complaints(site, [now()] * 3)
    text = page(browser(site)).content.decode()
    start = text.index('<svg class="chart')
    drawing = text[start : text.rindex("</svg>")]
    assert 'role="img" aria-labelledby="by-month-title by-month-desc"' in drawing
    assert "<desc id=" in drawing
    assert "style=" not in drawing
    assert "<script" not in drawing


def test_names_in_charts_are_escaped(site: Site) -> None:
    required = required_of(site)
    type(required["product"]).objects.filter(pk=required["product"].pk).update(name="</svg><script>alert(1)</script>")
    make_complaints(site, [now()], **required)
    text = page(browser(site)).content.decode()
    assert "<script>alert(1)" not in text
    assert "&lt;/svg&gt;" in text


def test_a_period_that_cannot_be_read_is_named_and_the_usual_one_shown(site: Site) -> None:
    response = page(browser(site), **{"from": "soon"})
    assert "Write a month as year and month" in response.content.decode()
    assert response.context["period"] == read_period({}, response.context["period"].zone)[0]


def test_the_page_costs_the_same_for_6_and_for_300_complaints_of_one_or_more_products(site: Site) -> None:
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    client = sign_in(manager, site)
    program = make_audits.make_program(site, next_due_date=now())
    rating_program = make_audits.make_program(site)

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            page(client)
        return len(queries)

    def make_rejected() -> None:
        document = make_document(site, user_to_review=[manager], author=make.author_of(manager))
        sign(version_of(document), manager, "reject", comment="Once more")

    page(client)
    # A section with more records than it has lines takes one query more, which counts them.
    make_complaints(site, [now()] * 6)
    for _ in range(6):
        make_rejected()
        # The audit's change moves the head of the site's chain, so that nothing is kept from the page before.
        make_audits.make_audit(program, due_date=now())
    few = cost()
    for products, others in ((1, 12), (4, 1)):
        for _ in range(products):
            make_complaints(site, [now() - datetime.timedelta(days=day) for day in range(300 // products)])
        for day in range(others):
            make_audits.make_completed(rating_program, due_date=now() - datetime.timedelta(days=day))
            make_audits.make_audit(program, due_date=now() - datetime.timedelta(days=day * 10))
            make_rejected()
        assert cost() == few


@without_charts
def test_my_actions_wait_for_me_and_what_others_did_waits_to_be_judged(site: Site, other_site: Site) -> None:
    owner, manager = (
        make.make_user(site=site, role=DefaultRole.READER),
        make.make_user(site=site, role=DefaultRole.MANAGER),
    )
    overdue = make_action(site, owner=owner, name="Replace the crates", due_date=noon("2020-03-05"), priority="High")
    make_action(site)
    [section] = page(browser(site, user=owner)).context["waiting"]
    assert (section.key, section.total, section.rows[0].name) == ("actions", 1, "Replace the crates")
    assert section.rows[0].is_late
    assert "priority High" in section.rows[0].task
    assert "judge" not in waits(page(browser(site, user=manager)))
    move(overdue, Status.DONE, owner)
    assert waits(page(browser(site, user=owner))) == {}
    assert waits(page(browser(site, user=manager)))["judge"] == 1
    own = move(make_action(site, owner=manager), Status.DONE, owner)
    move(make_action(site), Status.DONE, manager)
    assert waits(page(browser(site, user=manager)))["judge"] == 1
    assert waits(page(browser(site)))["judge"] == 3
    assert own.record_status == Status.DONE


def test_the_charts_of_actions_tell_their_age_and_how_many_worked(site: Site) -> None:
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    make_action(site, due_date=noon("2020-03-05"))
    for works in (True, True, False):
        move(move(make_action(site), Status.DONE, manager), Status.CLOSED, make.make_user(site=site), effective=works)
    client = browser(site, user=manager)
    charts_by_key = charts(page(client))
    assert "1 overdue today" in charts_by_key["ageing"].description
    assert "2 of 3 actions" in charts_by_key["effectiveness"].description
    for chart in ("ageing", "effectiveness"):
        for row in charts_by_key[chart].table.rows:
            for cell in row:
                assert not cell.url or client.get(cell.url).status_code == 200
