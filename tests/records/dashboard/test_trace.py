"""The trace of a lot: what it finds, for whom, what it says at a glance, and what it costs."""

import datetime
import html
import io
import re
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.http import urlencode

from records.accounts.models import DefaultRole
from records.complaints.erasure import erase_consumer
from records.complaints.models import Complaint
from records.dashboard.tracing.lookup import lots_in, quote_lot
from records.dashboard.tracing.similarity import nearest
from records.reference.models import Product
from records.sites.models import Site
from tests import make
from tests.make import audits as make_audits
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.backoffice import address, browser, sign_in
from tests.make.complaints import make_complaint, make_draft, make_entry
from tests.make.customers import make_customer
from tests.make.documents import add_version, make_document, make_signer
from tests.make.items import make_item
from tests.make.materials import make_material
from tests.make.pdfs import texts_of

pytestmark = pytest.mark.django_db


def day(number: int) -> datetime.datetime:
    return datetime.datetime(2026, 5, number, tzinfo=datetime.UTC)


def trace(client: Any, lots: str) -> Any:
    response = client.get(reverse("admin:trace"), {"lots": lots})
    assert response.status_code == 200
    return response.context


def names(context: Any) -> dict[str, list[str]]:
    return {group.key: [row.name for row in group.rows] for group in context["summary"].groups}


def test_the_regulator_s_question_is_answered_at_a_glance(site: Site) -> None:
    loaf, roll = make_entry(Product, site, "Rye loaf"), make_entry(Product, site, "Roll")
    corner, market = make_customer(site, name="Corner"), make_customer(site, name="Market")
    make_complaint(site, trace_number="L26330-1", product=loaf, customer=corner, quantity=2, date=day(3))
    make_complaint(site, trace_number="l26330-1", product=loaf, customer=market, quantity=4, date=day(9))
    make_complaint(site, trace_number="L26330-2", product=roll, customer=corner, quantity=1, date=day(5))
    make_complaint(site, trace_number="L26331-1", product=roll, customer=corner, date=day(1))
    summary = trace(browser(site), "L26330")["summary"]
    assert [(line.name.upper(), line.complaints, line.amount) for line in summary.lots] == [
        ("L26330-1", 2, "6"),
        ("L26330-2", 1, "1"),
    ]
    assert [(line.name, line.complaints) for line in summary.customers] == [("Corner", 2), ("Market", 1)]
    assert [(line.name, *line.span) for line in summary.products] == [
        ("Rye loaf", "2026-05-03", "2026-05-09"),
        ("Roll", "2026-05-05", "2026-05-05"),
    ]
    assert (summary.total.complaints, *summary.total.span) == (3, "2026-05-03", "2026-05-09")


def test_records_of_every_kind_that_name_the_lot_are_found(site: Site) -> None:
    complaint = make_complaint(site, complaint_description="The label says L26330-7, in blue.")
    make_material(site, external_id="M-L26330-7", name="Rye flour")
    make_item(site, name="Check weigher", serial_number="L26330-7")
    make_document(site, name="Recall of L26330-7")
    make_action(site, name="Withdraw L26330-7")
    make_action(site, name="Call the carrier", about=complaint)
    audit = make_audits.start(make_audits.make_audit(make_audits.make_program(site)))
    make_audits.find(audit, None)
    audit.findings.update(comment="Seen on lot L26330-7.")
    make_attachment(site, file_name="L26330-7.jpg")
    for _ in range(2):
        make_complaint(site, trace_number="L1")
    client = browser(site)
    paper, table = (client.get(f"/admin/trace/{kind}/", {"lots": "l26330-7"}) for kind in ("pdf", "xlsx"))
    texts = [re.sub(r"\s+", " ", words_of(paper.content, "pdf/")), words_of(b"".join(table), "xlsx/")]
    groups = names(trace(client, "l26330-7"))
    assert [name for text in texts for rows in groups.values() for name in rows if name not in text] == []
    assert groups == {
        "complaint": ["Complaint 1"],
        "material": ["Rye flour (No. 1)"],
        "item": ["Check weigher (No. 1)"],
        "action": ["Withdraw L26330-7 (No. 1)", "Call the carrier (No. 2)"],
        "document": ["Recall of L26330-7 (No. 1)"],
        "finding": ["GMP audit 1"],
        "attachment": ["L26330-7.jpg (No. 1)"],
    }


def test_several_lots_are_traced_at_once(site: Site) -> None:
    for lot in ("LOT-AA", "LOT-BB", "LOT-CC"):
        make_complaint(site, trace_number=lot)
    context = trace(browser(site), "lot-aa, lot-cc\nlot-zz")
    assert [line.name for line in context["summary"].lots] == ["LOT-AA", "LOT-CC"]
    assert context["unknown"] == ["lot-zz"]


@pytest.mark.parametrize(
    ("text", "lots"),
    [
        ("", []),
        (" , \n;", []),
        ("L1, l1 ,L2", ["L1", "L2"]),
        ("L 1\r\nL\x002", ["L 1", "L 2"]),
        ("\u200b", []),
        (",".join(f"L{n}" for n in range(30)), [f"L{n}" for n in range(20)]),
        ('"A,1"; B ,"say ""C; D""" ', ["A,1", "B", 'say "C; D"']),
        ('"A, B\nC" x, 12"', ['"A', "B", 'C" x', '12"']),
    ],
)
def test_lots_are_read_from_commas_and_lines(text: str, lots: list[str]) -> None:
    assert lots_in(text) == lots


@pytest.mark.parametrize("lot", ["L26,330", "L26; 330", '"L26"', '"26" tin, left', '12" x', "L26, L27"])
def test_every_link_traces_exactly_the_lot_that_it_is_about(site: Site, lot: str) -> None:
    records = make_complaint(site, trace_number=lot), make_item(site, serial_number=lot)
    material = make_material(site, external_id=lot)
    make_complaint(site, trace_number="L26 330 x L27")
    client = browser(site)
    pages = [*map(address, (*records, material)), f"/admin/search/?{urlencode({'q': lot})}"]
    links = [{*re.findall(r'href="(/admin/trace/\?lots=[^"]*)"', client.get(page).content.decode())} for page in pages]
    assert [len(links_of_page) for links_of_page in links] == [1] * 4
    for link in set[str]().union(*links):
        context = client.get(html.unescape(link)).context
        assert (context["lots"], context["unknown"], context["result"].count) == ([lot], [], 3)
        again = trace(client, context["asked"])
        assert (again["lots"], again["result"].count) == ([lot], 3)
        files = [
            client.get(reverse("admin:trace_file", args=[kind]), QueryDict(again["query"])) for kind in ("pdf", "xlsx")
        ]
        pdf, xlsx = (b"".join(file) for file in files)
        assert quote_lot(lot) in " ".join(texts_of(pdf))
        assert len(list(openpyxl.load_workbook(io.BytesIO(xlsx)).active.values)) == 4


def test_the_table_of_a_trace_has_no_formula_and_takes_every_character(site: Site) -> None:
    make_complaint(site, trace_number="=LOT\ufffe7", complaint_description="LOT")
    xlsx = browser(site).get(reverse("admin:trace_file", args=["xlsx"]), {"lots": "LOT"})
    rows = list(openpyxl.load_workbook(io.BytesIO(b"".join(xlsx))).active.values)
    assert "'=LOT\ufffd7" in rows[1]


def test_a_suggested_lot_with_a_comma_is_traced_whole(site: Site) -> None:
    make_complaint(site, trace_number="L26330,1")
    client = browser(site)
    [(_, [(near, link)])] = trace(client, "L26330-1")["suggestions"]
    assert (near, client.get(link).context["lots"]) == ("L26330,1", ["L26330,1"])


def test_a_lot_of_two_letters_means_that_very_lot(site: Site) -> None:
    make_complaint(site, trace_number="L1")
    make_complaint(site, trace_number="L12", complaint_description="L1")
    assert [line.name for line in trace(browser(site), "l1")["summary"].lots] == ["L1"]


@pytest.mark.parametrize("lot", ["100%", "a_b", "x" * 400, "'; --", "\\"])
def test_any_text_can_be_asked_for(site: Site, lot: str) -> None:
    make_complaint(site, trace_number="100 a-b")
    assert trace(browser(site), lot)["result"].count == 0


def test_nothing_of_another_site_is_found(site: Site, other_site: Site) -> None:
    make_complaint(other_site, trace_number="LOT-7")
    make_item(other_site, serial_number="LOT-7")
    context = trace(browser(site, DefaultRole.SITE_ADMINISTRATOR), "LOT-7")
    assert context["result"].count == 0
    assert context["suggestions"] == [("LOT-7", [])]


def test_a_person_of_two_sites_traces_both_and_sees_which(site: Site, other_site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.READER)
    make.give_role(user, other_site, DefaultRole.READER)
    make_complaint(site, trace_number="LOT-7")
    make_complaint(other_site, trace_number="LOT-7")
    (group,) = trace(sign_in(user, site), "LOT-7")["summary"].groups
    place = group.columns.index("Site")
    assert {row.cells[place] for row in group.rows} == {site.name, other_site.name}


def test_a_reader_sees_the_trace_without_private_fields(site: Site) -> None:
    complaint = make_complaint(site, trace_number="LOT-7", consumer_last_name="Berg", consumer_phone="+44 1632 960111")
    make_attachment(site, on=complaint, name="LOT-7 with Berg")
    for kind in ("", "xlsx/", "pdf/"):
        answer = browser(site, DefaultRole.READER).get(f"/admin/trace/{kind}", {"lots": "LOT-7"})
        content = b"".join(answer) if kind == "xlsx/" else answer.content
        text = content.decode() if not kind else words_of(content, kind)
        assert "LOT-7" in text
        assert "Berg" not in text
        assert "960111" not in text
    page = browser(site, DefaultRole.STANDARD).get("/admin/trace/", {"lots": "LOT-7"}).content.decode()
    assert "Berg, +44 1632 960111" in page


def test_an_erased_consumer_is_named_as_erased_without_the_codes(site: Site) -> None:
    complaint = make_complaint(site, trace_number="LOT-7", consumer_last_name="Berg", consumer_email="b@mail.example")
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked by letter")
    Complaint.objects.filter(pk=complaint.pk).update(consumer_phone="+44 1632 960111")
    [group] = trace(browser(site), "LOT-7")["summary"].groups
    assert group.rows[0].cells[group.columns.index("Consumer")] == "+44 1632 960111, Erased"


def words_of(content: bytes, kind: str) -> str:
    """Return the texts of an XLSX or a PDF."""
    if kind == "xlsx/":
        book = openpyxl.load_workbook(io.BytesIO(content))
        return "\n".join(str(row) for row in book.worksheets[0].iter_rows(values_only=True))
    return "\n".join(texts_of(content))


def test_the_paper_and_the_table_say_the_same(site: Site, tmp_path: Path) -> None:
    complaint: Any = make_complaint(site, trace_number="LOT-7", date=day(3), quantity=3)
    make_complaint(site, trace_number="=LOT-7", date=day(4), customer=complaint.customer, product=complaint.product)
    client = browser(site)
    answer = client.get("/admin/trace/xlsx/", {"lots": "LOT-7"})
    table = words_of(b"".join(answer), "xlsx/")
    assert "'Complaint 1: LOT-7'" in table
    assert '"\'=LOT-7"' in table
    answer = client.get("/admin/trace/pdf/", {"lots": "LOT-7"})
    assert answer["Content-Disposition"] == 'attachment; filename="trace-LOT-7.pdf"'
    text = re.sub(r"\s+", " ", words_of(answer.content, "pdf/"))
    assert "Trace: LOT-7" in text
    assert "Since 2026-05-03 Last 2026-05-04" in text
    assert complaint.customer.name in text
    assert client.get("/admin/trace/pdf/").status_code == 404
    assert client.get("/admin/trace/csv/", {"lots": "LOT-7"}).status_code == 404


def test_a_part_that_very_many_records_hold_has_to_be_longer(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("records.dashboard.tracing.lookup.MOST_FOUND", 2)
    for number in range(3):
        make_complaint(site, trace_number=f"LOT-{number}")
    context = trace(browser(site), "LOT")
    assert context["too_many"] == ["Complaints"]
    assert context["result"].count == 0


@pytest.mark.parametrize("wrong", ["L2633O-1", "L263301", "L26303-1", "l 26330 1", "L26330-12"])
def test_near_misses_are_suggested(site: Site, wrong: str) -> None:
    make_complaint(site, trace_number="L26330-1")
    make_complaint(site, trace_number="Z99999-9")
    ((lot, near),) = trace(browser(site), wrong)["suggestions"]
    assert lot == wrong
    assert [text for text, _ in near] == ["L26330-1"]


def test_other_spellings_of_a_lot_that_is_found_are_named(site: Site, other_site: Site) -> None:
    spellings = ["L26330-1", "l26330-1 a", "L263301", "L26330/1", "L26 330 1", "00L26330-1"]
    for lot in [*spellings, "L26330-2", "L26330-12", "L2633O1"]:
        make_complaint(site, trace_number=lot)
    make_item(site, serial_number="L26330.1")
    make_material(site, external_id="l26330_1")
    make_complaint(other_site, trace_number="L26330\N{EN DASH}1")
    client = browser(site)
    context = trace(client, "L26330-1")
    other_spellings = ["L26 330 1", "L26330.1", "L26330/1", "L263301", "l26330_1"]
    assert [text for text, _ in context["others"]] == other_spellings
    everything = client.get(context["all_spellings"]).context
    assert everything["others"] == []
    assert everything["summary"].total.complaints == 7
    pdf = client.get(reverse("admin:trace_file", args=["pdf"]), {"lots": "L26330-1"})
    text = " ".join(texts_of(b"".join(pdf)))
    assert "Not in this trace" in text
    assert all(one in text for one in other_spellings)
    xlsx = client.get(reverse("admin:trace_file", args=["xlsx"]), {"lots": "L26330-1"})
    rows = list(openpyxl.load_workbook(io.BytesIO(b"".join(xlsx))).active.values)
    assert [row[1] for row in rows if row[0] == "Not in this trace"] == other_spellings


@pytest.mark.parametrize(
    ("lot", "other"),
    [("0077123", "77123"), ("STRASSE 9", "straße9"), ("ZQX77001", "ZQX-77-001"), ("L26330", "L-26330")],
)
def test_zeros_in_front_sharp_s_and_separators_are_other_spellings(site: Site, lot: str, other: str) -> None:
    make_complaint(site, trace_number=lot)
    make_complaint(site, trace_number=other)
    assert [text for text, _ in trace(browser(site), lot)["others"]] == [other]


def test_the_likest_lot_comes_first() -> None:
    assert nearest("L26330-1", ["L26330-2", "L2633O-1", "X"]) == ["L2633O-1", "L26330-2"]


@pytest.mark.parametrize("role", [DefaultRole.READER, DefaultRole.STANDARD])
def test_a_trace_does_not_tell_whether_a_record_holds_a_text_that_is_not_searched(
    site: Site, role: DefaultRole
) -> None:
    consumer = {"consumer_last_name": "Przybylski", "consumer_email": "anna@home.example"}
    make_complaint(site, trace_number="LOT-7", review_report="Sabotage", **consumer)
    pending = make_document(site, name="LOT-7 recall", file_name="plan.txt")
    add_version(pending, file_name="blackmail.txt", user_to_review=[make_signer(site)])
    guesses = ["przyb", "anna@home", "sabotage", "blackmail", "nobody"]
    context = trace(browser(site, role), ", ".join(["LOT-7", *guesses]))
    assert sorted(names(context)) == ["complaint", "document"]
    assert context["unknown"] == guesses


@pytest.mark.parametrize("role", [DefaultRole.READER, DefaultRole.MANAGER])
def test_a_lot_that_only_the_name_of_a_file_in_force_has_is_known(site: Site, role: DefaultRole) -> None:
    make_document(site, name="Certificate", file_name="LOT-7.pdf")
    context = trace(browser(site, role), "LOT-7")
    assert (sorted(names(context)), context["unknown"]) == (["document"], [])


def test_drafts_and_archived_records_are_told_apart(site: Site) -> None:
    make_draft(site, trace_number="LOT-7")
    summary = trace(browser(site), "LOT-7")["summary"]
    assert summary.groups[0].rows[0].name == "Draft complaint: LOT-7"
    assert [line.name for line in summary.customers] == ["Not named"]


def test_a_trace_costs_the_same_whatever_is_found(site: Site) -> None:
    client = browser(site)
    make_complaint(site, trace_number="LOT-1")
    make_action(site, name="LOT-1")
    trace(client, "LOT-1")
    with CaptureQueriesContext(
        connection,
    ) as few:
        trace(client, "LOT-1")
    for number in range(12):
        complaint = make_complaint(site, trace_number=f"LOT-{number}")
        make_action(site, name=f"LOT-{number}", about=complaint)
    with CaptureQueriesContext(connection) as many:
        trace(client, "LOT, LOT-3, LOT-4")
    assert len(many) <= len(few)


def test_the_trace_is_linked_from_the_menu_the_search_and_records(site: Site) -> None:
    complaint, item = make_complaint(site, trace_number="LOT 7"), make_item(site, serial_number="S-9")
    material, other = make_material(site, external_id="M-3"), make_complaint(site)
    client = browser(site, DefaultRole.READER)
    assert 'href="/admin/trace/"' in client.get("/admin/").content.decode()
    assert "/admin/trace/?lots=LOT%207" in client.get("/admin/search/", {"q": "LOT 7"}).content.decode()
    for record, lots in ((complaint, "LOT+7"), (item, "S-9"), (material, "M-3")):
        assert f"/admin/trace/?lots={lots}" in client.get(address(record)).content.decode()
    assert "/admin/trace/?lots" not in client.get(address(other)).content.decode()
