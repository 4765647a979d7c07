"""Through every door, an audit shows its score, rating and result only when it is handed in or completed."""

import importlib
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from records.audits.models import AuditRecord
from records.dashboard.printing.layouts import audit_paper
from records.history.models import Change
from records.history.verification import verify
from records.packs import kinds
from records.packs.tables import Table
from tests import make
from tests.make.actions import everything
from tests.make.audits import (
    cancel,
    complete,
    find,
    make_audit,
    make_program,
    make_rating,
    response,
    start,
    submit,
)
from tests.make.backoffice import address, browser, list_address
from tests.make.transfer import export, table

NOTHING = (None, "", "")
FAILURE = (Decimal("80.00"), "Not met", "Sent back")
STAGES: dict[str, tuple[Callable[[AuditRecord], AuditRecord], Any]] = {
    "Scheduled": (lambda record: record, NOTHING),
    "In Progress": (lambda record: start_and_answer(record), NOTHING),
    "Awaiting Review": (lambda record: submit(start_and_answer(record)), FAILURE),
    "Completed": (lambda record: complete(submit(start_and_answer(record))), FAILURE),
    "Cancelled": (lambda record: cancel(submit(start_and_answer(record))), NOTHING),
}
stages = pytest.mark.parametrize("status", STAGES)


def start_and_answer(record: AuditRecord) -> AuditRecord:
    scale = record.audit_program.rating
    assert scale is not None
    return find(start(record), *[response(scale, "Yes")] * 4, response(scale, "Critical"))


@pytest.fixture
def audit_in(site: Any) -> Callable[[str], AuditRecord]:
    """Return a function that makes an audit in a status, with four good answers and one that fails the audit."""

    def make_in_status(status: str) -> AuditRecord:
        bands = (("0", "50", "Not met", "Sent back"), ("50", "100", "Met", "Accepted"))
        scale = make_rating(site, (("Yes", "2"), ("Critical", "0")), bands, fails=("Critical",))
        record = STAGES[status][0](make_audit(make_program(site, rating=scale)))
        assert record.record_status == status
        return record

    return make_in_status


@stages
def test_the_list_reads_sorts_and_searches_only_what_is_rated(api: Any, audit_in: Any, status: str) -> None:
    record, (score, rating, result) = audit_in(status), STAGES[status][1]
    path = f"/audit/GetAuditProgramRecordList/{record.audit_program_id}"
    (row,) = api.get(path, {"sort": "Score"}).json()
    assert (row["Score"], row["Rating"], row["Result"]) == (score and float(score), rating, result)
    assert len(api.get(path, {"search": "Sent back"}).json()) == (1 if result else 0)


@stages
def test_the_exports_and_the_pack_have_only_what_is_rated(site: Any, audit_in: Any, status: str) -> None:
    audit_in(status)
    score, rating, result = STAGES[status][1]
    for part in ("", "interface"):
        (row,) = table(export(browser(site), AuditRecord, part=part))
        assert (row["Score"] and Decimal(row["Score"]), row["Rating"], row["Result"]) == (score or "", rating, result)
    kind = next(one for one in kinds.KINDS if one.model is AuditRecord)
    head, line = Table(kind, make.make_user(site=site).pk, everything).lines(AuditRecord.objects.all())
    cells = dict(zip(head, line, strict=True))
    assert (cells["Score"] or None, cells["Rating"], cells["Result"]) == (score, rating, result)


@stages
def test_pages_and_the_paper_show_only_what_is_rated(site: Any, audit_in: Any, status: str) -> None:
    record, is_scored = audit_in(status), STAGES[status][1] != NOTHING
    client: Client = browser(site)
    for page in (address(record), list_address(AuditRecord)):
        text = client.get(page).content.decode()
        assert ("Sent back" in text, "Not met" in text) == (is_scored, is_scored), page
    paper = audit_paper(record, site, make.make_user(site=site), ())
    values = {value.label: value.text for part in paper.parts for value in part.values}
    assert (values.get("Result") == "Sent back", values.get("Rating") == "Not met") == (is_scored, is_scored)


def test_a_failing_answer_says_so_in_the_choice_and_on_the_paper(site: Any, audit_in: Any) -> None:
    record = audit_in("In Progress")
    assert "Critical (fails the audit)" in browser(site).get(address(record)).content.decode()


def test_the_page_of_a_rating_says_in_words_which_response_fails_the_audit(site: Any) -> None:
    scale = make_rating(site, (("Yes", "2"), ("Critical", "0")), fails=("Critical",))
    page = browser(site).get(reverse("admin:reference_rating_read", args=(scale.pk,))).content.decode()
    cells = re.findall(r"<td[^>]*>\s*(.*?)\s*</td>", page, re.S)
    assert [cells[cells.index(name) + 2] for name in ("Yes", "Critical")] == ["No", "Yes"]


def test_the_feed_names_the_score_with_the_change_that_hands_the_audit_in(api: Any, audit_in: Any) -> None:
    audit_in("Awaiting Review")
    rows = api.get("/change/GetChangeList", {"entity": "AuditRecord"}).json()
    operations = {row["Operation"] for row in rows if {"Score", "Rating", "Result"} & set(row["Fields"])}
    assert operations == {"SubmitAudit"}


def test_an_upgrade_empties_the_scores_of_open_audits_and_the_history_stays_proven(audit_in: Any) -> None:
    record = audit_in("In Progress")
    completed_audit = complete(submit(start_and_answer(make_audit(record.audit_program))))
    AuditRecord.objects.filter(pk=record.pk).update(score=80, rating="Not met", result="Sent back")
    before = record.revision
    importlib.import_module("records.audits.migrations.0005_no_score_before_review").empty_scores(apps, None)
    record.refresh_from_db()
    completed_audit.refresh_from_db()
    assert (record.score, record.rating, record.result, record.revision) == (*NOTHING, before + 1)
    assert (completed_audit.score, completed_audit.rating, completed_audit.result) == FAILURE
    change = Change.objects.filter(record_id=record.pk).latest("number")
    assert [(entry["field"], entry["old"], entry["new"]) for entry in change.fields] == [
        ("score", "80.00", None),
        ("rating", "Not met", ""),
        ("result", "Sent back", ""),
    ]
    assert not verify().faults
