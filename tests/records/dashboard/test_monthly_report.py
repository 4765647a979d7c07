"""The monthly report: its numbers, the lists behind them, its empty states, its readers and its paper."""

import datetime
import functools
import zoneinfo
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pypdf import PdfReader

from documents import reading
from documents.models import Document, DocumentVersion
from records.accounts.actions import set_members
from records.accounts.models import DefaultRole, User
from records.actions.models import Action, Status
from records.audits.models import AuditRecord
from records.backoffice.datetimes import NOTHING
from records.complaints.models import Complaint
from records.dashboard.figures.periods import Period, months_on
from records.dashboard.monthly import figures
from records.dashboard.monthly.shares import Share, is_below, lower_limit, mean_of
from records.history.trail import now
from records.sites.models import Site
from tests import make
from tests.make import audits as make_audits
from tests.make.actions import make_action, move
from tests.make.backoffice import browser
from tests.make.complaints import make_units_sold
from tests.make.documents import make_document, make_signer, version_of
from tests.make.figures import make_complaints, noon
from tests.make.pdfs import texts_of
from tests.shared_fixtures import shared_fixture

UTC = zoneinfo.ZoneInfo("UTC")
HALF_YEAR = Period(datetime.date(2026, 1, 1), datetime.date(2026, 6, 1), UTC, datetime.date(2026, 6, 15))
PAGE = "/admin/monthly/"
PAPER = "/admin/monthly/paper/"


def bare(day: str) -> datetime.datetime:
    """Return midnight UTC of a day, as days are stored."""
    return datetime.datetime.fromisoformat(f"{day}T00:00:00+00:00")


def last_month() -> datetime.date:
    """Return the first day of the last month that is over, which the report shows by default."""
    return months_on(now().date().replace(day=1), -1)


def midnight(day: datetime.date) -> datetime.datetime:
    """Return midnight UTC of a day, as days are stored."""
    return datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC)


def make_audit_finished(site: Site, rating: Any, day: datetime.datetime, *answers: str) -> AuditRecord:
    """Make an audit that was finished on the day with these responses, by name."""
    program = make_audits.make_program(site, rating=rating)
    audit = make_audits.start(make_audits.make_audit(program, due_date=day), start_date=day)
    audit = make_audits.find(
        audit, *(make_audits.response(rating, name) for name in answers), values={"finish_date": day}
    )
    return make_audits.complete(make_audits.submit(audit))


def make_readers(site: Site, count: int) -> tuple[Any, list[User]]:
    """Make a role of the site with that many members."""
    role = make.make_role(site, ["items.view_item"])
    people = [make_signer(site) for _ in range(count)]
    set_members(role, add=people, author=make.SYSTEM)
    return role, people


def make_document_to_read(site: Site, in_force: datetime.datetime, readers: int, read: int) -> Document:
    """Make a document that `readers` people must read, of whom `read` have done so."""
    role, people = make_readers(site, readers)
    document = make_document(site, must_read=[role])
    version = version_of(document)
    for person in people[:read]:
        reading.confirm(version.pk, person, author=make.author_of(person))
    DocumentVersion.objects.filter(pk=version.pk).update(in_force_since=in_force)
    return document


@shared_fixture
def busy(site: Site, other_site: Site) -> Site:
    """Return a site at which something of every kind happened last month and is overdue, beside another such site."""
    month, today = last_month(), now().date()
    rating = make_audits.make_rating(site)
    for place in (site, other_site):
        first = midnight(month)
        days = [first + datetime.timedelta(days=2, hours=9)] * 3
        one, two, third = make_complaints(place, days)
        for complaint, answer_days, target in ((one, 4, 10), (two, 9, 5), (third, 20, None)):
            Complaint.objects.filter(pk=complaint.pk).update(
                answered_on=first + datetime.timedelta(days=answer_days),
                target_date=None if target is None else first + datetime.timedelta(days=target),
            )
        for back in (1, 40, 500):
            [waiting] = make_complaints(place, [first])
            Complaint.objects.filter(pk=waiting.pk).update(target_date=midnight(today - datetime.timedelta(days=back)))
            action = make_action(place)
            Action.objects.filter(pk=action.pk).update(due_date=midnight(today - datetime.timedelta(days=back)))
        closed_actions = [move(make_action(place), Status.DONE, make.make_user(site=place)) for _ in range(3)]
        for index, action in enumerate(closed_actions):
            move(action, Status.CLOSED, make.make_user(site=place), effective=index > 0)
            Action.objects.filter(pk=action.pk).update(closed_date=first + datetime.timedelta(days=index, hours=8))
    for answers in (("Yes", "Yes"), ("Yes", "No")):
        make_audit_finished(site, rating, midnight(month) + datetime.timedelta(days=3, hours=10), *answers)
    make_audits.make_audit(make_audits.make_program(site), due_date=midnight(today - datetime.timedelta(days=35)))
    make_units_sold(site, f"{month:%Y-%m}", 3_000_000)
    make_document_to_read(site, midnight(month) - datetime.timedelta(days=10), readers=3, read=1)
    make_document_to_read(other_site, midnight(month), readers=2, read=0)
    document = make_document(site, user_to_approve=[make_signer(site)])
    DocumentVersion.objects.filter(document=document).update(created=midnight(today - datetime.timedelta(days=9)))
    Document.objects.filter(pk=document.pk).update(review_date=midnight(today - datetime.timedelta(days=3)))
    return site


# --- Numbers ------------------------------------------------------------------------------------------------------


def test_a_lower_limit_of_a_share_is_three_deviations_below_the_mean() -> None:
    # p = 0.8, n = 100: root of 0.8 x 0.2 / 100 = 0.04, so 0.8 - 0.12 = 0.68; with n = 4 it lies at 0.2.
    assert lower_limit(0.8, 100) == pytest.approx(0.68)
    assert lower_limit(0.8, 4) == pytest.approx(0.2)
    assert lower_limit(0.1, 4) == 0


def test_the_running_month_is_judged_and_not_averaged() -> None:
    months = [datetime.date(2026, month, 1) for month in (4, 5, 6)]
    parts = ((90, 100), (70, 100), (10, 100))
    shares = [Share(month, part, total, ()) for month, (part, total) in zip(months, parts, strict=True)]
    mean = mean_of(shares, HALF_YEAR)
    assert mean == 0.8  # of April and May; June still runs
    assert [is_below(share, mean) for share in shares] == [False, False, True]
    assert mean_of([Share(months[0], 0, 0, ())], HALF_YEAR) is None
    assert not is_below(Share(months[0], 0, 0, ()), 0.8)


def test_answers_are_counted_in_the_month_of_the_answer(site: Site, other_site: Site) -> None:
    dates = [noon("2026-02-27")] * 4
    rows = make_complaints(site, dates)
    answers = (("2026-02-28", "2026-03-10"), ("2026-03-02", "2026-03-01"), ("2026-03-30", None), ("2025-12-31", None))
    for row, (answer_day, target) in zip(rows, answers, strict=True):
        target_date = target and bare(target)
        Complaint.objects.filter(pk=row.pk).update(answered_on=bare(answer_day), target_date=target_date)
    [elsewhere] = make_complaints(other_site, dates[:1])
    Complaint.objects.filter(pk=elsewhere.pk).update(answered_on=bare("2026-03-02"))
    by_month = figures.responses(Complaint.objects.filter(site=site), HALF_YEAR)
    assert [counts["rows"] for counts in by_month] == [0, 1, 2, 0, 0, 0]
    assert [counts["by_target"] for counts in by_month] == [0, 1, 0, 0, 0, 0]
    assert (by_month[2]["with_target"], by_month[2]["span3"], by_month[2]["spanmore"]) == (1, 1, 1)


def test_what_is_overdue_is_counted_by_the_month_in_which_it_was_due(site: Site) -> None:
    for due in ("2025-03-01", "2025-12-31", "2026-01-01", "2026-05-31", "2026-06-14", "2026-06-15"):
        action = make_action(site)
        Action.objects.filter(pk=action.pk).update(due_date=bare(due))
    rows = Action.objects.filter(site=site)
    counts = figures.overdue(rows, "due_date", HALF_YEAR)
    assert (counts.earlier, list(counts.months), counts.later, counts.total) == (2, [1, 0, 0, 0, 1, 1], 0, 5)
    until_april = Period(HALF_YEAR.first, datetime.date(2026, 4, 1), UTC, HALF_YEAR.today)
    counts = figures.overdue(rows, "due_date", until_april)
    assert (counts.earlier, list(counts.months), counts.later, counts.total) == (2, [1, 0, 0, 0], 2, 5)


def test_scores_are_averaged_over_the_audits_that_have_one(site: Site) -> None:
    rating = make_audits.make_rating(site)
    make_audit_finished(site, rating, noon("2026-02-03"), "Yes", "Yes")
    make_audit_finished(site, rating, noon("2026-02-28"), "Yes", "No")
    make_audit_finished(site, rating, noon("2026-03-01"), "Not applicable")
    rows = figures.scores(AuditRecord.objects.filter(site=site), HALF_YEAR)
    assert [(counts["rows"], counts["scored"]) for counts in rows[:3]] == [(0, 0), (2, 2), (1, 0)]
    assert float(rows[1]["total"]) / rows[1]["scored"] == 75


def test_readings_count_in_the_month_in_which_they_were_due(site: Site) -> None:
    make_document_to_read(site, bare("2026-01-20"), readers=3, read=1)  # due on February 3
    make_document_to_read(site, bare("2026-06-10"), readers=2, read=0)  # due on June 24, not overdue on the 15th
    make_document_to_read(site, bare("2025-06-10"), readers=1, read=0)  # due before the period
    counts = figures.readings(reading.progress([site.pk]), HALF_YEAR)
    assert (list(counts.due), list(counts.read)) == ([0, 3, 0, 0, 0, 2], [0, 1, 0, 0, 0, 0])
    assert (counts.all_due, counts.all_read) == (6, 1)
    assert (counts.overdue.earlier, list(counts.overdue.months)) == (1, [0, 2, 0, 0, 0, 0])


# --- The page -----------------------------------------------------------------------------------------------------


def cells_of(report: Any) -> Iterator[tuple[str, Any]]:
    """Yield every linked cell of a report, with what it belongs to."""
    for line in report.lines:
        yield from ((line.name, cell) for cell in (line.current, line.previous) if cell.url)
    for chart in report.charts:
        for row in chart.table.rows if chart.table and not chart.empty else ():
            yield from ((f"{chart.title}, {row[0].text}", cell) for cell in row if cell.url)


def counts_behind(client: Client, url: str) -> set[int]:
    """Return the numbers that the page behind a figure shows."""
    page = client.get(url)
    assert page.status_code == 200, url
    if "cl" in page.context:
        return {page.context["cl"].queryset.count()}
    due, read = page.context["owed"], page.context["read"]
    return {due - read} if page.context["missing"] else {due, read}


@pytest.mark.parametrize("role", [DefaultRole.MANAGER, DefaultRole.READER])
def test_every_figure_is_the_number_of_the_records_in_the_list_behind_it(busy: Site, role: DefaultRole) -> None:
    client = browser(busy, role)
    report = client.get(PAGE).context["report"]
    cells = list(cells_of(report))
    assert len(cells) > 20
    line_cells = [cell for line in report.lines for cell in (line.current, line.previous)]
    assert [cell.text for cell in line_cells if not cell.url and cell.text not in ("0", NOTHING)] == []
    counts = functools.cache(functools.partial(counts_behind, client))
    for name, cell in cells:
        shown = counts(cell.url)
        assert not cell.text.isdigit() or int(cell.text) in shown, (name, cell)


def test_the_month_at_a_glance_holds_the_months_figures(busy: Site) -> None:
    page = browser(busy).get(PAGE)
    report = page.context["report"]
    lines = {line.name: line.current.text for line in report.lines}
    assert lines == {
        "Complaints": "6",
        "Complaints per million units sold": "2.00",
        "Complaints answered": "3",
        "Answered by the target date": "50 %",
        "Actions closed": "3",
        "Actions that worked": "67 %",
        "Audits finished": "2",
        "Mean audit score": "75.0",
        "Readings due": "3",
        "Readings done": "33 %",
        "Complaints to answer: overdue today": "3",
        "Actions: overdue today": "3",
        "Audits: overdue today": "1",
        "Document reviews: overdue today": "1",
        "Documents to sign: overdue today": "1",
        "Readings: overdue today": lines["Readings: overdue today"],
    }
    assert all(not chart.empty for chart in report.charts)
    assert all(f">{chart.title}</h3>" in page.text for chart in report.charts)


def test_a_reader_sees_no_pending_documents_and_no_readings(busy: Site) -> None:
    page = browser(busy, DefaultRole.READER).get(PAGE)
    names = {line.name for line in page.context["report"].lines}
    assert {"Complaints", "Actions closed", "Document reviews: overdue today"} <= names
    assert not any(name.startswith(("Readings", "Documents to sign")) for name in names)


def test_a_site_without_records_says_what_is_missing(site: Site) -> None:
    page = browser(site).get(PAGE)
    report = page.context["report"]
    assert all(chart.empty for chart in report.charts)
    assert "Nothing is overdue today." in page.text
    assert "Nobody has to read a document." in page.text
    assert texts_of(browser(site).get(PAPER).content)


def test_the_number_of_queries_does_not_grow_with_the_records(site: Site) -> None:
    client = browser(site)
    month = midnight(last_month())

    def query_count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(PAGE).status_code == 200
        return len(queries)

    def more(count: int) -> None:
        rows = make_complaints(site, [month] * count)
        Complaint.objects.filter(pk__in=[row.pk for row in rows]).update(answered_on=month, target_date=month)
        for _ in range(count):
            action = move(make_action(site), Status.DONE, make.make_user(site=site))
            move(action, Status.CLOSED, make.make_user(site=site), effective=True)
            make_document_to_read(site, month, readers=1, read=1)

    client.get(PAGE)
    more(1)
    few = query_count()
    more(4)
    assert query_count() == few


@pytest.mark.parametrize("text", ["2026-13", "x", "0001-01", "9999-12", "2026-10'"])
def test_a_month_that_cannot_be_read_is_named_and_the_last_month_is_shown(site: Site, text: str) -> None:
    page = browser(site).get(PAGE, {"month": text})
    assert page.status_code == 200
    assert page.context["period_fault"]
    assert page.context["period"].final_month == last_month()
    assert browser(site).get(PAPER, {"month": text}).status_code == 200


def test_a_month_that_has_not_begun_is_refused_and_the_running_one_is_shown_so_far(site: Site) -> None:
    client, running = browser(site), now().date().replace(day=1)
    following = months_on(running, 1)
    assert "has not begun yet" in client.get(PAGE, {"month": f"{following:%Y-%m}"}).context["period_fault"]
    make_complaints(site, [midnight(running)])
    page = client.get(PAGE, {"month": f"{running:%Y-%m}"})
    assert page.context["period"].final_month == running
    assert page.context["following"] == ""
    assert "so far" in page.text


def test_whoever_may_see_no_part_of_it_gets_neither_page_nor_menu_entry(site: Site) -> None:
    role = make.make_role(site, ["items.view_item"])
    user = make.make_user(site=site)
    set_members(role, add=[user], author=make.SYSTEM)
    client = browser(site, user=user)
    assert client.get(PAGE).status_code == client.get(PAPER).status_code == 403
    assert "Monthly report" not in client.get("/admin/").text
    assert reverse("admin:monthly") in browser(site, DefaultRole.READER).get("/admin/").text
    assert browser(site).post(PAGE).status_code == 405


# --- The paper ----------------------------------------------------------------------------------------------------


def test_the_paper_holds_every_figure_with_links_to_the_lists(busy: Site, settings: Any) -> None:
    settings.BASE_URL = "https://larder.example"
    client = browser(busy)
    answer = client.get(PAPER)
    assert answer["Content-Type"] == "application/pdf"
    assert f"{last_month():%Y-%m}.pdf" in answer["Content-Disposition"]
    text = " ".join(texts_of(answer.content))
    report = client.get(PAGE).context["report"]
    for expected in (
        f"Monthly report, {last_month():%B %Y}",
        busy.name,
        "The month at a glance",
        *(line.name for line in report.lines),
        *(chart.title for chart in report.charts),
        "lower control limit",
        "upper control limit",
    ):
        assert expected in text
    links = {
        note.get_object()["/A"]["/URI"]
        for page in PdfReader(BytesIO(answer.content)).pages
        for note in page.get("/Annots", ())
    }
    assert links == {f"https://larder.example{cell.url}" for _, cell in cells_of(report)}
