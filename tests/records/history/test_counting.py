"""Cached counts of a site's records: equal to a new count after every write, and not counted twice."""

import datetime
import random
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Sum
from django.test.utils import CaptureQueriesContext

from documents import reading
from documents.models import DocumentVersion
from records.accounts.models import DefaultRole, Role
from records.actions.models import Action, Status
from records.audits.actions import update_audit_program
from records.audits.models import AuditRecord
from records.complaints import actions, workflow
from records.complaints.models import Complaint
from records.dashboard.figures import actions as action_figures
from records.dashboard.figures import audits, complaints
from records.dashboard.figures.delays import delays
from records.dashboard.figures.periods import read_period
from records.dashboard.monthly import figures as monthly
from records.history import counting as history_counting
from records.history.counting import UNCACHED, Counting
from records.history.models import Change
from records.history.trail import now
from records.packs.making import Making
from records.packs.models import Pack
from records.sites.models import Site
from tests import make
from tests.make import audits as make_audits
from tests.make.actions import make_action, move
from tests.make.backoffice import browser, save
from tests.make.complaints import make_complaint, make_units_sold, required_of
from tests.make.documents import make_document
from tests.make.items import make_item
from tests.make.transfer import as_csv, bring_in


def figures_of(site: Site, count: Any) -> list[Any]:
    """Return everything that the charts count among the site's complaints."""
    period, _ = read_period({}, complaints.CALENDAR)
    rows = complaints.counted_complaints(site.pk)
    totals = dict.fromkeys(("customer", "product", "nonconformance"), 100)
    return [
        complaints.by_month(rows, period, rows, count=count),
        complaints.paretos(rows, period, totals, count),
        complaints.with_cause(rows, period, count),
        complaints.responses(rows, period, count),
    ]


def figures_of_actions_and_audits(site: Site, count: Any) -> list[Any]:
    """Return everything that the start page counts among the site's actions and audits, and its units sold."""
    period, _ = read_period({}, complaints.CALENDAR)
    rows = Action.objects.at(site).filter(is_archived=False)
    overdue = audits.longest_overdue(site.pk, period, count)
    return [
        delays(action_figures.unfinished(rows), period.today, count=count),
        action_figures.effectiveness(rows, period, count),
        delays(audits.open_audits(site.pk), period.today, count=count),
        [(str(audit), audit.due_date, audit.record_status) for audit in overdue],
        audits.scores(site.pk, period, count),
        complaints.units_sold(site.pk, period, count),
        monthly.effectiveness(rows, period, count),
        monthly.overdue(action_figures.unfinished(rows), "due_date", period, count),
        monthly.scores(AuditRecord.objects.at(site), period, count),
        reading.progress([site.pk], count),
    ]


def by_status(site: Site) -> Any:
    """Return the query of the numbers of complaints by status."""
    return Complaint.objects.at(site).order_by().values_list("record_status").annotate(count=Count("*"))


def test_what_is_kept_equals_a_new_count_after_every_kind_of_write(site: Site) -> None:
    required, other = required_of(site), required_of(site)
    client = browser(site, DefaultRole.MANAGER)
    figures: list[Any] = []

    def has_moved() -> None:
        """Check the figures after a write, which changes them each time."""
        new = figures_of(site, Counting(site.pk))
        assert new == figures_of(site, UNCACHED)
        assert new == figures_of(site, Counting(site.pk))
        assert new not in figures[-1:]
        figures.append(new)

    complaint = make_complaint(site, **required)
    has_moved()
    body = {name: other[name] for name in ("product", "customer", "nonconformance")}
    actions.update_complaint_detail(site.pk, complaint.pk, body, author=make.SYSTEM, may_change_completed=False)
    has_moved()
    draft = workflow.add_draft(site.pk, required, author=make.SYSTEM)
    workflow.submit(site.pk, draft.pk, author=make.SYSTEM)
    has_moved()
    make.archive(complaint)
    has_moved()
    make.archive(complaint, archived=False)
    has_moved()
    assert (
        save(client, complaint, answered_on=f"{complaint.created:%Y-%m-%d}", change_reason="Answered").status_code
        == 302
    )
    has_moved()
    row = {
        "CustomerId": str(required["customer"].pk),
        "ProductId": str(required["product"].pk),
        "NonconformanceId": str(required["nonconformance"].pk),
    }
    bring_in(client, Complaint, as_csv([row]))
    has_moved()


def test_what_is_kept_of_actions_audits_and_units_equals_a_new_count_after_every_kind_of_write(site: Site) -> None:
    figures: list[Any] = []

    def has_moved() -> None:
        """Check the figures after a write, which changes them each time."""
        new = figures_of_actions_and_audits(site, Counting(site.pk))
        assert new == figures_of_actions_and_audits(site, UNCACHED)
        assert new == figures_of_actions_and_audits(site, Counting(site.pk))
        assert new not in figures[-1:]
        figures.append(new)

    yesterday = now() - datetime.timedelta(days=1)
    make_units_sold(site, f"{yesterday:%Y-%m}", 5)
    has_moved()
    action = make_action(site, due_date=yesterday)
    has_moved()
    other = make_action(site, due_date=yesterday)
    has_moved()
    make.archive(other)
    has_moved()
    action = move(action, Status.DONE, make.make_user(site=site))
    move(action, Status.CLOSED, make.make_user(site=site), effective=False)
    has_moved()
    rating = make_audits.make_rating(site)
    program = make_audits.make_program(site, rating=rating)
    audit = make_audits.make_audit(program, due_date=yesterday)
    has_moved()
    update_audit_program(site.pk, program.pk, {"name": "Pests"}, author=make.SYSTEM)
    has_moved()
    make_audits.cancel(audit)
    has_moved()
    record = make_audits.find(make_audits.start(make_audits.make_audit(program)), rating.responses.first())
    make_audits.complete(make_audits.submit(record))
    has_moved()
    readers = Role.objects.get(site=site, default_role=DefaultRole.READER)
    make.make_user(site=site, role=DefaultRole.READER)
    document = make_document(site, must_read=[readers])
    has_moved()
    reader = make.make_user(site=site, role=DefaultRole.READER)
    has_moved()
    reading.confirm(DocumentVersion.objects.get(document=document).pk, reader, author=make.author_of(reader))
    has_moved()
    make.archive(document)
    has_moved()


def test_sums_and_most_frequent_values_are_right_after_any_changes(site: Site, monkeypatch: Any) -> None:
    monkeypatch.setattr(history_counting, "PART", 3)
    monkeypatch.setattr(history_counting, "SPARE", 2)
    required = [required_of(site) for _ in range(9)]
    records = [make_complaint(site, **required[n % 9]) for n in range(15)]
    rows, choose = complaints.counted_complaints(site.pk), random.Random(7)

    def counts(count: Counting) -> Any:
        most = count.most(rows, "product_id", 2)
        return most, sorted(count.sums(rows, "severity", count=Count("*"), numbers=Sum("site_sequence_id")))

    for _ in range(60):
        complaint, act = Complaint.objects.get(pk=choose.choice(records).pk), choose.randrange(4)
        if act == 0:
            records.append(make_complaint(site, **choose.choice(required)))
        elif act == 1 or complaint.is_archived:
            make.archive(complaint, archived=not complaint.is_archived)
        else:
            body = {"product": choose.choice(required)["product"], "severity": choose.choice(("Minor", "Major"))}
            actions.update_complaint_detail(site.pk, complaint.pk, body, author=make.SYSTEM, may_change_completed=False)
        assert counts(Counting(site.pk)) == counts(UNCACHED)


def test_a_value_that_was_not_kept_becomes_the_most_frequent_when_the_others_lose(site: Site, monkeypatch: Any) -> None:
    monkeypatch.setattr(history_counting, "SPARE", 2)
    required = sorted((required_of(site) for _ in range(3)), key=lambda one: one["product"].pk)
    records = [
        [make_complaint(site, **one) for _ in range(number)] for one, number in zip(required, (3, 2, 2), strict=True)
    ]
    first, _, third = (one["product"].pk for one in required)
    rows = complaints.counted_complaints(site.pk)
    assert Counting(site.pk).most(rows, "product_id", 1) == [(first, 3)]
    make.archive(records[1][0])
    assert Counting(site.pk).most(rows, "product_id", 1) == [(first, 3)]
    for complaint in records[0][:2]:
        make.archive(complaint)
    assert Counting(site.pk).most(rows, "product_id", 1) == [(third, 2)]


def test_only_values_that_a_written_record_has_or_had_are_counted_again(site: Site) -> None:
    required = [required_of(site) for _ in range(3)]
    records = [make_complaint(site, **one) for one in required]
    unaffected, former, present = (one["product"].pk for one in required)
    rows = complaints.counted_complaints(site.pk)
    Counting(site.pk).most(rows, "product_id", 3)
    body = {"product": required[2]["product"]}
    actions.update_complaint_detail(site.pk, records[1].pk, body, author=make.SYSTEM, may_change_completed=False)
    with CaptureQueriesContext(connection) as queries:
        frequent = Counting(site.pk).most(rows, "product_id", 3)
    assert frequent == [(present, 2), (unaffected, 1)]
    sql = queries[-1]["sql"]
    assert "COUNT(" in sql
    assert [pk.hex in sql.replace("-", "") for pk in (unaffected, former, present)] == [False, True, True]


def test_a_write_of_another_kind_keeps_what_is_counted(site: Site) -> None:
    make_complaint(site)
    before = Counting(site.pk)(by_status(site))
    make_item(site)
    with CaptureQueriesContext(connection) as queries:
        assert Counting(site.pk)(by_status(site)) == before
    assert not any("complaints_complaint" in query["sql"] for query in queries)
    make_complaint(site)
    assert Counting(site.pk)(by_status(site)) == Counting()(by_status(site)) != before


def test_only_the_part_of_a_written_record_is_counted_again(site: Site, monkeypatch: Any) -> None:
    monkeypatch.setattr(history_counting, "PART", 3)
    records = [make_complaint(site) for _ in range(8)]
    rows = complaints.counted_complaints(site.pk)
    assert Counting(site.pk).sums(rows, count=Count("*")) == [(8,)]
    make.archive(records[-1])
    with CaptureQueriesContext(connection) as queries:
        assert Counting(site.pk).sums(rows, count=Count("*")) == [(7,)]
    assert len(queries) == 6
    assert '"site_sequence_id" >= 6' in queries[-1]["sql"]
    Change.objects.filter(chain=site.pk)._raw_delete("default")
    make.archive(records[0])
    assert Counting(site.pk).sums(rows, count=Count("*")) == [(6,)]


def test_an_unchanged_site_is_not_counted_twice_and_another_site_changes_nothing(site: Site, other_site: Site) -> None:
    make_complaint(site)
    first = Counting(site.pk)(by_status(site))
    make_complaint(other_site)
    with CaptureQueriesContext(connection) as queries:
        assert Counting(site.pk)(by_status(site)) == first == [("Awaiting Review", 1)]
    assert len(queries) == 1
    assert Counting(other_site.pk)(by_status(other_site)) == [("Awaiting Review", 1)]


def test_a_write_that_is_rolled_back_leaves_what_is_kept(site: Site) -> None:
    make_complaint(site)
    before = Counting(site.pk)(by_status(site))
    with transaction.atomic():
        make_complaint(site)
        transaction.set_rollback(True)
    assert Counting(site.pk)(by_status(site)) == before
    make_item(site)
    assert Counting(site.pk)(by_status(site)) == before


def test_the_numbers_of_a_new_pack_are_those_that_the_pack_is_made_with(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    today = complaints.day_of(make_complaint(site).created, complaints.CALENDAR)
    pack = Pack(site=site, asked_by=user, first=today, last=today, kinds=["complaints", "items", "attachments"])
    for _ in range(2):
        assert Making(pack, Counting(site.pk)).counts == Making(pack).counts
        make_item(site)
