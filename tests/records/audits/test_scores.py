"""The score of an audit, worked by hand, and the band that it falls in (DECISIONS 3, Audit Record)."""

from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError

from records.audits import workflow
from records.audits.models import AuditRecord
from records.audits.scores import score_of
from records.reference.actions import update_entry
from tests import make
from tests.make import audits as make_audits
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


@pytest.mark.parametrize(
    ("values", "highest", "score"),
    [
        (["2", "1", "0"], "2", "50.00"),  # 100 x 3 / (3 x 2)
        (["2", "2", "1"], "2", "83.33"),  # 100 x 5 / 6 = 83.333…
        (["2", "2", "2", "1", "2", "2"], "2", "91.67"),  # 100 x 11 / 12 = 91.666…
        (["5", "4"], "5", "90.00"),  # 100 x 9 / 10
        (["2", None, "0", None], "2", "50.00"),  # not applicable counts neither above nor below: 100 x 2 / 4
        (["2.5", "1.25"], "2.5", "75.00"),  # 100 x 3.75 / 5
        (["85", "84.99"], "100", "85.00"),  # 84.995, halves upwards
        (["0", "0"], "2", "0.00"),
        (["2", "2"], "2", "100.00"),
        ([None, None], "2", None),
        ([], "2", None),
        (["0"], "0", None),  # a scale whose highest score is 0 gives no score
        (["1"], None, None),
    ],
)
def test_the_score_is_the_share_of_what_could_be_reached(values, highest, score):
    scores = [None if one is None else Decimal(one) for one in values]
    assert score_of(scores, highest and Decimal(highest)) == (None if score is None else Decimal(score))


def audit_with(site, responses, rating=None):
    rating = rating or make_rating(site)
    record = start(make_audit(make_program(site, rating=rating)))
    return submit(find(record, *(response(rating, name) for name in responses)))


@pytest.mark.parametrize(
    ("responses", "score", "rating", "result"),
    [
        (["Yes", "Partly", "No", "Not applicable"], "50.00", "C", "Fail"),
        (["Yes", "Yes", "Partly"], "83.33", "B", "Pass"),
        (["Yes", "Yes", "Not applicable"], "100.00", "A", "Pass"),
        (["No"], "0.00", "C", "Fail"),
    ],
)
def test_rating_and_result_come_from_the_band_of_the_score(site, responses, score, rating, result):
    record = audit_with(site, responses)
    audit = AuditRecord.objects.get(pk=record.pk)
    assert (audit.score, audit.rating, audit.result) == (Decimal(score), rating, result)


def test_without_a_scored_response_there_is_no_score_and_no_rating(site):
    record = audit_with(site, ["Not applicable", "Not applicable"])
    assert (record.score, record.rating, record.result) == (None, "", "")


def test_a_question_without_a_response_is_refused_once_the_audit_is_rated(site):
    rating = make_rating(site)
    record = submit(find(start(make_audit(make_program(site, rating=rating))), response(rating, "Yes")))
    with pytest.raises(ValidationError, match="Question 2"):
        find(record, response(rating, "Yes"), None, response(rating, "Partly"), reason="Asked again")
    record = find(record, response(rating, "Yes"), response(rating, "Partly"), reason="Asked again")
    assert record.score == Decimal("75.00")  # 100 x 3 / 4


@pytest.mark.parametrize(
    ("scores", "rating"),
    [
        (("60", "60"), "B"),  # exactly From
        (("59.99", "59.99"), "C"),  # exactly To
        (("60", "59.99"), "B"),  # 59.995 becomes 60.00
        (("59.99", "59.98"), "C"),  # 59.985 becomes 59.99
        (("85", "84.99"), "A"),
        (("100", "100"), "A"),
    ],
)
def test_the_edges_of_a_band_belong_to_it(site, scores, rating):
    names = sorted({*scores, "100"})
    scale = make_rating(site, tuple((name, name) for name in names))
    assert audit_with(site, scores, scale).rating == rating


def test_where_two_bands_touch_the_higher_one_holds(site):
    scale = make_rating(site, (("Half", "1"), ("Whole", "2")), (("0", "50", "C", "Fail"), ("50", "100", "A", "Pass")))
    assert audit_with(site, ["Half"], scale).rating == "A"


def test_a_score_that_no_band_holds_is_kept_without_a_rating(site):
    scale = make_rating(site, bands=(("90", "100", "A", "Pass"),))
    record = audit_with(site, ["Partly"], scale)
    assert (record.score, record.rating, record.result) == (Decimal("50.00"), "", "")


def test_an_archived_response_counts_only_where_it_was_given(site):
    scale = make_rating(site, (("Outstanding", "4"), *make_audits.RESPONSES))
    audit = audit_with(site, ["Outstanding", "Yes"], scale)
    assert audit.score == Decimal("75.00")  # 100 x 6 / 8
    responses = scale.responses.exclude(name="Outstanding")
    update_entry(
        scale,
        {"responses": [{"id": one.pk, "name": one.name, "score": one.score} for one in responses]},
        author=make.SYSTEM,
    )
    new_audit = audit_with(site, ["Yes", "Partly"], scale)
    assert new_audit.score == Decimal("75.00")  # 100 x 3 / 4: the archived 4 is no longer within reach
    rows = [
        {"id": one.pk, "question": one.question, "rating_response": one.rating_response} for one in audit.findings.all()
    ]
    changed_audit = workflow.save_findings(
        site.pk,
        audit.pk,
        [*rows, {"question": "One more", "rating_response": response(scale, "No")}],
        author=make.SYSTEM,
        reason="One question was left out",
    )
    assert changed_audit.score == Decimal(
        "50.00"
    )  # 100 x 6 / 12: this audit has the archived 4, which stays its highest score
    with pytest.raises(ValidationError):
        find(new_audit, response(scale, "Outstanding"), reason="Better than thought")


def test_a_changed_scale_leaves_a_finished_audit_as_it_was_found(site):
    scale = make_rating(site)
    record = complete(audit_with(site, ["Yes", "Partly"], scale))
    update_entry(scale, {"bands": []}, author=make.SYSTEM)
    make.archive(scale)
    record.refresh_from_db()
    assert (record.score, record.rating, record.result) == (Decimal("75.00"), "B", "Pass")


def test_an_audit_has_no_score_before_it_is_handed_in_and_none_when_it_is_cancelled(site):
    scale = make_rating(site)
    record = find(start(make_audit(make_program(site, rating=scale))), response(scale, "Yes"))
    assert (record.score, record.rating, record.result) == (None, "", "")
    record = submit(record)
    assert (record.score, record.rating, record.result) == (Decimal("100.00"), "A", "Pass")
    record = cancel(record)
    assert (record.score, record.rating, record.result) == (None, "", "")


@pytest.mark.parametrize(
    ("responses", "score"),
    [
        (["Yes"] * 9 + ["Critical"], "90.00"),  # the score alone would be in the highest band
        (["Critical"], "0.00"),
        (["Yes", "Closed down"], "100.00"),  # a failing response without a score
        (["Closed down"], None),
    ],
)
def test_one_failing_response_puts_the_audit_in_the_lowest_band_whatever_the_score(site, responses, score):
    answers = (("Yes", "2"), ("Critical", "0"), ("Closed down", None))
    record = audit_with(site, responses, make_rating(site, answers, fails=("Critical", "Closed down")))
    audit = AuditRecord.objects.get(pk=record.pk)
    assert (audit.score, audit.rating, audit.result) == (score and Decimal(score), "C", "Fail")


def test_a_failing_response_on_a_scale_without_bands_leaves_the_score_alone(site):
    scale = make_rating(site, bands=(), fails=("No",))
    record = audit_with(site, ["Yes", "No"], scale)
    assert (record.score, record.rating, record.result) == (Decimal("50.00"), "", "")


def test_a_corrected_failing_response_gives_the_band_of_the_score_back(site):
    scale = make_rating(site, fails=("No",))
    record = audit_with(site, ["Yes", "Yes", "Yes", "No"], scale)
    assert record.rating == "C"
    again = find(record, *[response(scale, "Yes")] * 4, reason="Read wrongly")
    assert (again.score, again.rating, again.result) == (Decimal("100.00"), "A", "Pass")


def test_a_response_marked_as_failing_later_changes_no_audit_that_was_handed_in(site):
    scale = make_rating(site)
    record = audit_with(site, ["Yes", "Yes", "Yes", "Yes", "Yes", "Yes", "No"], scale)
    rows = [
        {"id": row.pk, "name": row.name, "score": row.score, "fails": row.name == "No"} for row in scale.responses.all()
    ]
    update_entry(scale, {"responses": rows}, author=make.SYSTEM)
    record = complete(record)
    assert (record.score, record.rating) == (Decimal("85.71"), "A")
    assert audit_with(site, ["Yes", "No"], scale).rating == "C"
