"""Print views: what is on the paper, who gets it, and in which form."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.complaints.models import Complaint
from records.dashboard.printing.bidi import in_shape, visual_lines
from records.dashboard.printing.fonts import (
    CHINESE,
    JAPANESE,
    KOREAN,
    PLAIN,
    is_set_faithfully,
    markup,
    use_fonts,
    width_of,
)
from records.dashboard.printing.layouts import audit_paper, complaint_paper
from records.dashboard.printing.paper import BODY, CAUTION, Paper, Part, Value, render_pdf
from records.sites.models import Site
from tests import make
from tests.make import audits as make_audits
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.backoffice import address, browser, sign_in
from tests.make.complaints import make_complaint, make_completed, make_draft
from tests.make.figures import noon


def print_address(record: Any) -> str:
    return reverse("admin:print", args=(record._meta.model_name, record.pk))


def values_of(paper: Paper) -> dict[str, str]:
    return {value.label: value.text for part in paper.parts for value in part.values}


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type /Page\b", pdf))


def test_a_complaint_is_saved_as_a_pdf_under_its_number(site: Site) -> None:
    complaint = make_completed(site, complaint_description="Crêpe à l'œuf, Łódź, Ωμέγα, Жук, 食品")
    response = browser(site, DefaultRole.READER).get(print_address(complaint))
    assert response.status_code == 200
    assert response.content.startswith(b"%PDF-")
    assert pages_of(response.content) in (1, 2)
    assert response["Content-Type"] == "application/pdf"
    assert response["Content-Disposition"] == f'attachment; filename="complaint-{complaint.site_sequence_id}.pdf"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert {"private", "no-store"} <= set(response["Cache-Control"].split(", "))


def test_a_complaints_paper_holds_every_field_of_the_complaint(site: Site) -> None:
    complaint = make_completed(site, quantity="12.5000", trace_number="L24", date=noon("2026-03-05"))
    complaint = Complaint.objects.get(pk=complaint.pk)
    user = make.make_user(site=site, role=DefaultRole.STANDARD)
    paper = complaint_paper(complaint, site, user, ("date",))
    values = values_of(paper)
    assert values["Status"] == "Completed"
    assert values["Date"] == "2026-03-05 12:00"
    assert values["Customer"] == str(complaint.customer)
    assert values["Quantity"] == "12.5"
    assert values["Trace number"] == "L24"
    assert values["Review report"] == "Metal detector checked."
    printed_labels = {value.label for part in paper.parts for value in part.values}
    omitted = {"site", "site_sequence_id", "id", "is_archived", "revision", "trace_number_key", "entity_folder"}
    labels = {
        str(column.verbose_name).lower() for column in Complaint._meta.concrete_fields if column.name not in omitted
    }
    assert labels == {label.lower() for label in printed_labels}
    assert site.name in paper.subtitle
    assert user.printed_name in paper.foot


def test_the_paper_of_somebody_who_may_not_see_consumers_says_so_instead_of_showing_empty_fields(site: Site) -> None:
    complaint = make_complaint(site, consumer_last_name="Zimmermann", consumer_phone="555-0142", trace_number="L24")
    reader, standard = (make.make_user(site=site, role=role) for role in (DefaultRole.READER, DefaultRole.STANDARD))
    paper = complaint_paper(complaint, site, reader, ("date",))
    values = values_of(paper)
    assert values["Name and contact"] == "The person who printed this may not see it."
    assert not {"Consumer first name", "Consumer last name", "Consumer phone", "Consumer e-mail"} & values.keys()
    assert "Zimmermann" not in " ".join(paper.texts)
    assert values["Trace number"] == "L24"
    full_values = values_of(complaint_paper(complaint, site, standard, ("date",)))
    assert (full_values["Consumer last name"], full_values["Consumer phone"]) == ("Zimmermann", "555-0142")
    assert "Name and contact" not in full_values


def test_an_audits_paper_holds_its_findings_and_people(site: Site) -> None:
    rating = make_audits.make_rating(site)
    auditor = make.make_employee(site, first_name="Mira", last_name="Quill")
    program = make_audits.make_program(site, name="GMP walk", rating=rating, auditors=[auditor])
    audit = make_audits.start(make_audits.make_audit(program, due_date=noon("2026-03-05")))
    responses = [make_audits.response(rating, name) for name in ("Yes", "No")]
    audit = make_audits.complete(make_audits.submit(make_audits.find(audit, *responses)))
    paper = audit_paper(audit, site, make.make_user(site=site), ())
    assert paper.title == f"Audit {audit.site_sequence_id}: GMP walk"
    values = values_of(paper)
    assert (values["Auditors"], values["Score"], values["Due date"]) == ("Mira Quill", "50", "2026-03-05")
    findings = [part for part in paper.parts if part.title.startswith("Finding")]
    assert [part.values[1].text for part in findings] == ["Yes", "No"]
    response = browser(site, DefaultRole.READER).get(print_address(audit))
    assert response.content.startswith(b"%PDF-")


def test_a_draft_has_no_number_in_its_file_name(site: Site) -> None:
    response = browser(site).get(print_address(make_draft(site)))
    assert response["Content-Disposition"] == 'attachment; filename="complaint-draft.pdf"'


def test_nobody_prints_what_they_may_not_see(site: Site, other_site: Site) -> None:
    complaint = make_complaint(site)
    assert Client().get(print_address(complaint)).status_code == 302
    assert browser(other_site).get(print_address(complaint)).status_code == 404
    clerk = make.make_user(site=site)
    make.make_role(site, ["documents.view_document"], [clerk])
    assert sign_in(clerk, site).get(print_address(complaint)).status_code in (403, 404)


@pytest.mark.parametrize("path", ["complaint/x/", "complaint/00000000-0000-0000-0000-000000000000/", "user/1/", "x/x/"])
def test_what_does_not_exist_is_not_found(site: Site, path: str) -> None:
    assert browser(site).get(f"/admin/print/{path}").status_code == 404


def test_the_button_stands_on_the_pages_of_what_can_be_printed(site: Site) -> None:
    complaint, employee = make_complaint(site), make.make_employee(site)
    client = browser(site, DefaultRole.READER)
    assert f'href="{print_address(complaint)}"' in client.get(address(complaint)).content.decode()
    assert f'href="{print_address(employee)}"' in client.get(address(employee, "read")).content.decode()


def test_letters_of_every_script_are_printed_and_doubtful_ones_reported() -> None:
    for text in ("plain", "Łódź é ñ ő", "Ωμέγα", "Жук", "食品", "パン", "한국", "→ ≥ ½", "שלום", "مرحبا", "الله"):
        assert is_set_faithfully(in_shape(text)), text
        assert render_pdf(Paper(text, text, [Part(text, [Value(text, text)])], text)).startswith(b"%PDF-")
    for text in ("שָׁלוֹם", "مَرحبا", "नमस्ते", "ไทย", "\U00013000"):
        assert not is_set_faithfully(in_shape(text)), text
        assert render_pdf(Paper("t", "s", [Part("p", [Value("l", text)])], "f")).startswith(b"%PDF-")
    assert CAUTION


def test_each_stretch_gets_a_font_that_has_its_letters_and_markup_is_escaped() -> None:
    assert markup("a <b>&") == "a &lt;b&gt;&amp;"
    assert markup("a\nb") == "a<br/>b"
    assert markup("食品") == f'<font name="{CHINESE}">食品</font>'
    assert JAPANESE in markup("食パン")
    assert KOREAN in markup("한국")


def test_lines_of_hebrew_and_arabic_are_broken_as_they_are_spoken_and_set_as_they_are_read() -> None:
    use_fonts()
    # Unicode, Annex 9: words and brackets turn, numbers and Latin letters do not.
    assert visual_lines("abc שלום 12", 500, BODY) == [("abc 12 םולש", False)]
    assert visual_lines("שלום (abc) 12", 500, BODY) == [("12 (abc) םולש", True)]
    assert visual_lines("abc (שלום) [x]", 500, BODY) == [("abc (םולש) [x]", False)]
    assert visual_lines("סך: 5% (כולל)", 500, BODY) == [("(ללוכ) 5% :ךס", True)]
    # The first line holds what is said first, and so the word at its right end.
    long = " ".join(["ראשון"] + ["מילה"] * 30 + ["אחרון"])
    lines = visual_lines(long, 200, BODY)
    assert len(lines) > 2
    assert lines[0][0].endswith("ןושאר")
    assert lines[-1][0].startswith("ןורחא")
    assert all(width_of(line, PLAIN, BODY.fontSize) <= 200 for line, _ in lines)
    # Letters take their joined shapes, of which the last comes first from the left; none is lost.
    [(word, _)] = visual_lines("سلام", 500, BODY)
    assert word == "\ufee1\ufefc\ufeb3"
    broken = visual_lines("ש" * 400, 200, BODY)
    assert "".join(line for line, _ in broken) == "ש" * 400


@pytest.mark.parametrize(
    "text",
    [
        "word " * 4000,
        "שלום עולם " * 2000,
        "س" * 20_000,
        "x" * 20_000,
        "line\n" * 4000,
        "食" * 20_000,
        "</para><br/>" * 1000,
    ],
)
def test_the_longest_text_runs_over_pages_and_is_not_cut(site: Site, text: str) -> None:
    complaint = make_complaint(site, complaint_description=text[:20_000])
    response = browser(site).get(print_address(complaint))
    assert response.status_code == 200
    assert pages_of(response.content) > 2


def test_printing_an_audit_costs_the_same_for_3_and_for_30_findings(site: Site) -> None:
    rating = make_audits.make_rating(site)
    program = make_audits.make_program(site, rating=rating)
    client = browser(site)
    yes = make_audits.response(rating, "Yes")

    def cost(findings: int) -> int:
        audit = make_audits.find(make_audits.start(make_audits.make_audit(program)), *[yes] * findings)
        client.get(print_address(audit))
        with CaptureQueriesContext(connection) as queries:
            assert client.get(print_address(audit)).status_code == 200
        return len(queries)

    assert cost(3) == cost(30)


def test_the_paper_of_a_record_names_its_actions_and_attachments(site: Site) -> None:
    complaint = make_complaint(site)
    action = make_action(site, about=complaint, name="Replace the crates", priority="High")
    attachment = make_attachment(site, on=complaint, file_name="crate.jpg")
    manager, reader = (make.make_user(site=site, role=role) for role in (DefaultRole.MANAGER, DefaultRole.READER))
    values = values_of(complaint_paper(complaint, site, manager, ("date",)))
    assert values[f"Action {action.site_sequence_id}"].startswith("Replace the crates. Owner ")
    assert attachment.file_hash in values["crate.jpg"]
    assert "crate.jpg" not in values_of(complaint_paper(complaint, site, reader, ("date",)))
    audit = make_audits.make_audit(make_audits.make_program(site))
    other = make_action(site, about=audit)
    assert f"Action {other.site_sequence_id}" in values_of(audit_paper(audit, site, reader, ()))
    response = browser(site, DefaultRole.READER).get(print_address(action))
    assert response.content.startswith(b"%PDF-")
