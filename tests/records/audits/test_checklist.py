"""Answering an audit question by question: each answer is stored once, none replaces another, no score is early."""

import uuid
from typing import Any

import pytest
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.audits import workflow
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.make.actions import make_action
from tests.make.audits import find, make_audit, make_checklist, make_program, make_rating, response, start, submit
from tests.make.backoffice import address, browser, form_of, press, save, sign_in

pytestmark = pytest.mark.django_db

JSON = {"Accept": "application/json"}


def start_audit(site: Site, *questions: str, has_rating: bool = True) -> Any:
    lists = [
        make_checklist(site, questions=questions or ("Are hands washed?", "Is hair covered?", "Is the floor dry?"))
    ]
    return start(make_audit(make_program(site, checklists=lists, rating=make_rating(site) if has_rating else None)))


def give_answer(client: Any, finding: Any, name: str = "", comment: str = "", seen: tuple[str, str] = ("", "")) -> Any:
    scale = finding.audit_record.rating_scale
    body = {
        "finding": str(finding.pk),
        "response": str(response(scale, name).pk) if name else "",
        "comment": comment,
        "seen_response": str(response(scale, seen[0]).pk) if seen[0] else "",
        "seen_comment": seen[1],
    }
    return client.post(reverse("admin:audits_auditrecord_answer", args=(finding.audit_record_id,)), body, headers=JSON)


def answers_of(audit: Any) -> list[tuple[str, str]]:
    return [(str(row.rating_response or ""), row.comment) for row in audit.findings.all()]


def changes_of(audit: Any) -> Any:
    return Change.objects.filter(record_id=audit.pk, operation="AnswerQuestion")


def test_each_answer_is_one_change_without_a_reason_and_there_is_no_verdict_before_the_last(site: Site) -> None:
    audit: Any = start_audit(site)
    client: Any = browser(site)
    first, second, third = audit.findings.all()
    assert give_answer(client, first, "Yes").status_code == 200
    answers = give_answer(client, second, "Partly", "Loose bolt\r\nfound ").json()["answers"]
    assert answers[str(second.pk)]["comment"] == "Loose bolt\nfound"
    assert answers_of(audit) == [("Yes", ""), ("Partly", "Loose bolt\nfound"), ("", "")]
    audit.refresh_from_db()
    assert (audit.score, audit.rating, audit.result) == (None, "", "")
    assert [change.reason for change in changes_of(audit)] == ["", ""]
    give_answer(client, third, "Yes")
    audit.refresh_from_db()
    assert (audit.score, audit.rating, audit.result) == (None, "", "")
    step = reverse("admin:audits_auditrecord_step", args=(audit.pk, "submit"))
    press(client, step, {"change_reason": "Walked with the shift lead"})
    audit.refresh_from_db()
    assert (str(audit.score), audit.rating, audit.result) == ("83.33", "B", "Pass")
    assert Change.objects.get(record_id=audit.pk, operation="SubmitAudit").reason == "Walked with the shift lead"


def test_an_answer_that_is_sent_again_is_stored_once(site: Site) -> None:
    audit: Any = start_audit(site)
    client: Any = browser(site)
    finding = audit.findings.first()
    for _ in range(3):
        assert give_answer(client, finding, "No").status_code == 200
    assert changes_of(audit).count() == 1
    assert give_answer(client, finding, "Yes", seen=("No", "")).status_code == 200
    assert answers_of(audit)[0] == ("Yes", "")


def test_what_somebody_else_answered_meanwhile_is_told_and_not_overwritten(site: Site) -> None:
    audit = start_audit(site)
    finding = audit.findings.first()
    ada = make.make_user(site=site, role=DefaultRole.MANAGER, given_name="Ada", family_name="Baker")
    give_answer(sign_in(ada, site), finding, "No", "A puddle")
    for number in range(51):
        new = workflow.Answer(None, str(number))
        previous = workflow.Answer(None, str(number - 1) if number else "")
        workflow.answer_question(site.pk, audit.pk, audit.findings.last().pk, new, seen=previous, author=make.SYSTEM)
    answer = give_answer(browser(site), finding, "Yes")
    assert answer.status_code == 409
    conflict = answer.json()["conflict"]
    assert (conflict["who"], conflict["answer"], conflict["comment"]) == ("Ada Baker", "No", "A puddle")
    assert answers_of(audit)[0] == ("No", "A puddle")
    assert give_answer(browser(site), finding, "Yes", seen=("No", "A puddle")).status_code == 200


def test_an_answer_to_another_question_is_no_conflict(site: Site) -> None:
    audit = start_audit(site)
    first, second, _ = audit.findings.all()
    assert give_answer(browser(site), first, "Yes").status_code == 200
    assert give_answer(browser(site), second, "No").status_code == 200
    assert answers_of(audit)[:2] == [("Yes", ""), ("No", "")]


def test_what_cannot_be_answered_is_refused_with_a_sentence(site: Site) -> None:
    audit: Any = start_audit(site)
    client: Any = browser(site)
    finding = audit.findings.first()
    url = reverse("admin:audits_auditrecord_answer", args=(audit.pk,))
    foreign = response(make_rating(site, name="Other"), "Yes")
    for body, fault in (
        ({"response": str(foreign.pk)}, "This is not a response of the audit's rating."),
        ({"response": "nonsense"}, "This is not a response of the audit's rating."),
        ({"comment": "a\x00b"}, "Control characters are not allowed in text."),
    ):
        answer = client.post(url, {"finding": str(finding.pk), **body}, headers=JSON)
        assert (answer.status_code, answer.json()["faults"]) == (400, [fault])
    answer = client.post(url, {"finding": str(uuid.uuid4()), "comment": "x"}, headers=JSON)
    assert (answer.status_code, answer.json()["faults"]) == (409, ["This question was removed from the audit."])
    submit(find(audit, *[response(audit.rating_scale, "Yes")] * 3))
    finding = audit.findings.first()
    answer = give_answer(client, finding, "No", seen=("Yes", ""))
    assert answer.status_code == 409
    assert "Awaiting Review" in answer.json()["faults"][0]
    assert answers_of(audit)[0] == ("Yes", "")


def test_only_who_may_change_audits_of_the_site_answers(site: Site, other_site: Site) -> None:
    audit = start_audit(site)
    finding = audit.findings.first()
    assert give_answer(browser(site, DefaultRole.STANDARD), finding, "Yes").status_code == 403
    assert give_answer(browser(other_site), finding, "Yes").status_code == 404
    assert browser(site).get(reverse("admin:audits_auditrecord_answer", args=(audit.pk,))).status_code == 405
    assert (
        "Answer as a checklist" not in browser(site, DefaultRole.STANDARD).get(address(audit, "read")).content.decode()
    )
    assert answers_of(audit)[0] == ("", "")


def test_the_page_shows_what_stands_and_works_without_a_script(site: Site) -> None:
    audit: Any = start_audit(site)
    client: Any = browser(site)
    first, second, _ = audit.findings.all()
    give_answer(client, first, "Yes", "Well done")
    make_action(site, record_id=audit.pk, finding_id=first.pk)
    assert "Answer as a checklist" in client.get(address(audit, "read")).content.decode()
    page = client.get(address(audit, "checklist"))
    text = page.content.decode()
    assert "1 of 3 answered" in text
    assert "1 action" in text
    assert f"about=auditrecord%3A{audit.pk}&amp;finding={first.pk}" in text
    url = reverse("admin:audits_auditrecord_answer", args=(audit.pk,))
    answer = client.post(url, {"finding": str(second.pk), "response": str(response(audit.rating_scale, "No").pk)})
    assert answer.url == f"{address(audit, 'checklist')}#question-{second.pk}"
    assert answers_of(audit)[1] == ("No", "")
    conflict = client.post(url, {"finding": str(second.pk), "response": str(response(audit.rating_scale, "Yes").pk)})
    assert "answered “No” meanwhile" in client.get(conflict.url).content.decode()


def test_a_scheduled_or_finished_audit_is_no_checklist(site: Site) -> None:
    audit = make_audit(make_program(site))
    client: Any = browser(site)
    answer = client.get(address(audit, "checklist"))
    assert answer.url == address(audit, "read")
    assert "The audit is Scheduled" in client.get(answer.url).content.decode()
    assert "Answer as a checklist" not in client.get(answer.url).content.decode()


def test_an_audit_without_a_rating_is_answered_in_words(site: Site) -> None:
    audit: Any = start_audit(site, has_rating=False)
    client: Any = browser(site)
    assert give_answer(client, audit.findings.first(), comment="Dry").status_code == 200
    assert "1 of 3 answered" in client.get(address(audit, "checklist")).content.decode()


def test_the_page_costs_the_same_for_few_and_for_many_questions(site: Site, django_assert_max_num_queries: Any) -> None:
    client, costs = browser(site), []
    rating = make_rating(site)
    for count in (2, 12):
        questions = tuple(f"Question {place}?" for place in range(count))
        program = make_program(site, checklists=[make_checklist(site, f"List {count}", questions)], rating=rating)
        audit = find(start(make_audit(program)), *[response(rating, "Yes")] * count)
        client.get(address(audit, "checklist"))
        with django_assert_max_num_queries(25) as queries:
            client.get(address(audit, "checklist"))
        costs.append(len(queries))
    assert costs[0] == costs[1]


def test_an_audit_in_progress_is_changed_as_a_form_without_a_reason(site: Site) -> None:
    audit: Any = start_audit(site)
    client: Any = browser(site)
    assert save(client, audit, notes="Night shift").status_code == 302
    audit.refresh_from_db()
    assert audit.notes == "Night shift"
    submit(find(audit, *[response(audit.rating_scale, "Yes")] * 3))
    data = form_of(client.get(address(audit)))
    assert "Say why the record is changed." in client.post(address(audit), {**data, "notes": "x"}).content.decode()
