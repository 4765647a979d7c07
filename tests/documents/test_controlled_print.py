"""Controlled prints: numbered, stamped copies of the PDF that is in force."""

import re
from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation
from pypdf import PdfReader, Transformation
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    RectangleObject,
    TextStringObject,
)

from documents import actions, copies
from documents.models import ControlledPrint, Document, DocumentVersion
from records.accounts.models import DefaultRole
from records.dashboard.printing import stamping
from records.dashboard.printing.controlled import signature_paper
from records.history.models import Change
from records.history.moments import now
from records.history.verification import verify
from records.sites.models import Site
from tests import make
from tests.make import documents as docs
from tests.make.backoffice import address, browser, sign_in
from tests.make.pdfs import change_pdf, pdf, texts_of

BUTTON = "Print a controlled copy"
PLAIN = {"file_name": "hygiene.pdf", "file_type": "application/pdf"}


def make_pdf(site: Site, content: bytes = b"", **fields: Any) -> Document:
    """Make a document whose version in force is this PDF."""
    return docs.make_document(site, content or pdf("First page", "Second page"), **{**PLAIN, **fields})


def print_address(document: Document) -> str:
    return reverse("admin:documents_print", args=(document.pk,))


def print_copy(client: Client, document: Document) -> bytes:
    """Press the button and return the PDF."""
    answer: Any = client.post(print_address(document))
    assert answer.status_code == 200, answer.status_code
    content: bytes = answer.getvalue()
    assert answer["Content-Length"] == str(len(content))
    return content


def test_every_page_says_which_copy_of_which_version_it_is(site: Site) -> None:
    reader = make.make_user("reader", given_name="Ada", family_name="Byron", site=site, role=DefaultRole.READER)
    document = make_pdf(site, name="Hand washing")
    client = sign_in(reader, site)
    assert BUTTON in client.get(address(document, "read")).content.decode()
    pages = texts_of(print_copy(client, document))
    assert len(pages) == 3
    for number, page in enumerate(pages, 1):
        assert "Hand washing · Version 1 · Issued · Copy 1" in page
        assert "Uncontrolled when printed · Printed 2" in page
        assert f"by {reader.printed_name} · Page {number} of 3" in page
    assert "First page" in pages[0]
    assert "Second page" in pages[1]
    assert "This version came into force without signatures." in pages[2]
    assert docs.version_of(document).file_hash in pages[2].replace(" ", "")


def test_the_last_page_lists_the_signatures(site: Site) -> None:
    signer = docs.make_signer(site, DefaultRole.MANAGER)
    document = make_pdf(site, user_to_approve=[signer])
    assert browser(site).post(print_address(document)).status_code == 404
    docs.sign(docs.version_of(document), signer, "approve")
    last = texts_of(print_copy(browser(site), document))[-1]
    signature = docs.version_of(document).signatures.get()
    for text in (f"Approved by {signer.printed_name}", "Printed name", "Confirmed by Password", "Approved"):
        assert text in last
    assert last.replace(" ", "").count(signature.file_hash) == 2
    with translation.override("de"):
        german = signature_paper(docs.version_of(document), ControlledPrint.objects.get(), "")
    assert f"Freigegeben von {signer.printed_name}" in [part.title for part in german.parts]


def test_copies_are_counted_for_each_version_and_proved_by_the_history(site: Site) -> None:
    document = make_pdf(site)
    client = browser(site, DefaultRole.READER)
    assert "Copy 1 " in texts_of(print_copy(client, document))[0]
    assert "Copy 2 " in texts_of(print_copy(client, document))[0]
    assert "Copy 2 is the newest one" in client.get(address(document, "read")).content.decode()
    docs.add_version(document, pdf("Newer"), **PLAIN)
    assert "Version 2 · Issued · Copy 1 " in texts_of(print_copy(client, document))[0]
    change = Change.objects.filter(operation="ControlledPrint").order_by("number")[1]
    assert {"number", "version", "user_name", "date", "file_hash"} <= {one["field"] for one in change.fields}
    assert not verify().faults
    ControlledPrint.objects.filter(number=2).update(user_name="Somebody else")
    assert any("altered past its history" in str(fault) for fault in verify().faults)


@pytest.mark.django_db(transaction=True)
def test_two_people_who_print_at_once_get_copies_1_and_2(site: Site) -> None:
    document = make_pdf(site)
    clients = [browser(site, DefaultRole.READER) for _ in range(2)]
    answers = make.at_once(*(lambda client=client: print_copy(client, document) for client in clients))
    assert not [one for one in answers if isinstance(one, Exception)]
    numbers = sorted(texts_of(one)[0].partition("Copy ")[2][0] for one in answers)
    assert numbers == ["1", "2"]
    assert sorted(ControlledPrint.objects.values_list("number", flat=True)) == [1, 2]


def test_a_number_that_is_taken_is_not_written_down_again(site: Site) -> None:
    document = make_pdf(site)
    version, user = docs.version_of(document), docs.make_signer(site)
    copies.add(version.pk, 1, user, date=now(), author=make.author_of(user))
    for number in (1, 3):
        with pytest.raises(copies.NumberTakenError):
            copies.add(version.pk, number, user, date=now(), author=make.author_of(user))
    assert ControlledPrint.objects.count() == 1


def test_a_copy_that_was_overtaken_while_it_was_made_is_made_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    document = make_pdf(site)
    other = docs.make_signer(site)
    real = copies.next_number
    numbers: list[int] = []

    def number_of_loser(version: DocumentVersion) -> int:
        number = real(version)
        if not numbers:
            numbers.append(number)
            copies.add(version.pk, number, other, date=now(), author=make.author_of(other))
        return number

    monkeypatch.setattr(copies, "next_number", number_of_loser)
    assert "Copy 2 " in texts_of(print_copy(browser(site), document))[0]


def test_a_document_of_another_site_does_not_exist(site: Site, other_site: Site) -> None:
    document = make_pdf(site)
    assert browser(other_site, DefaultRole.MANAGER).post(print_address(document)).status_code == 404
    assert not ControlledPrint.objects.exists()


def test_only_the_version_in_force_is_printed(site: Site) -> None:
    document = make_pdf(site, pdf("In force"))
    docs.add_version(document, pdf("Draft"), **PLAIN, user_to_review=[docs.make_signer(site)])
    pages = texts_of(print_copy(browser(site, DefaultRole.MANAGER), document))
    assert "In force" in pages[0]
    assert not any("Draft" in page for page in pages)
    never = make_pdf(site, user_to_review=[docs.make_signer(site)])
    client = browser(site, DefaultRole.MANAGER)
    assert BUTTON not in client.get(address(never, "read")).content.decode()
    assert client.post(print_address(never)).status_code == 404


@pytest.mark.parametrize("role", [DefaultRole.READER, DefaultRole.MANAGER])
def test_other_files_and_archived_documents_have_no_button(site: Site, role: DefaultRole) -> None:
    client = browser(site, role)
    other = docs.make_document(site, b"text")
    docs.add_version(other, pdf(), **PLAIN, user_to_review=[docs.make_signer(site)])
    assert BUTTON not in client.get(address(other, "read")).content.decode()
    assert client.post(print_address(other)).status_code == 404
    archived = make_pdf(site)
    actions.archive_document(site.pk, archived.pk, archived=True, author=make.SYSTEM, reason="Old.")
    assert BUTTON not in client.get(address(archived, "read")).content.decode()
    answer = client.post(print_address(archived), follow=True)
    assert "not in force any more. Nothing was printed." in answer.content.decode()
    assert not ControlledPrint.objects.exists()


def test_opening_the_address_prints_nothing(site: Site) -> None:
    assert browser(site).get(print_address(make_pdf(site))).status_code == 405
    assert not ControlledPrint.objects.exists()


def with_a_page_of_no_size(content: bytes) -> bytes:
    return change_pdf(content, lambda writer: setattr(writer.pages[0], "mediabox", RectangleObject((0, 0, 0, 0))))


BROKEN = {
    "encrypted": (change_pdf(pdf(), lambda writer: writer.encrypt("", "owner", algorithm="RC4-128")), "is encrypted"),
    "not a PDF": (b"Wash your hands.", "is not a PDF that can be read"),
    "cut off": (pdf()[:300], "is not a PDF that can be read"),
    "only a beginning": (b"%PDF-1.7\n", "is not a PDF that can be read"),
    "no size": (with_a_page_of_no_size(pdf()), "has a page without a size"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_file_that_cannot_be_stamped_says_so_and_changes_nothing(site: Site, fault: str) -> None:
    content, text = BROKEN[fault]
    document = make_pdf(site, content)
    client = browser(site, DefaultRole.READER)
    before = Change.objects.count()
    answer = client.post(print_address(document), follow=True)
    assert answer.redirect_chain == [(address(document, "read"), 302)]
    page = answer.content.decode()
    assert text in page
    assert "Nothing was printed." in page
    assert not ControlledPrint.objects.exists()
    assert Change.objects.count() == before


def test_a_file_of_too_many_pages_says_so(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamping, "MOST_PAGES", 2)
    answer = browser(site).post(print_address(make_pdf(site, pdf("1", "2", "3"))), follow=True)
    assert "The PDF has 3 pages." in answer.content.decode()
    assert not ControlledPrint.objects.exists()


@pytest.mark.parametrize(("most", "status"), [(2_399, 302), (2_400, 200)])
@pytest.mark.parametrize(("pages", "in_parts"), [("12", True), ("123", False)], ids=["in parts", "shared"])
def test_a_small_file_whose_pages_unpack_or_share_much_says_so(
    site: Site, monkeypatch: pytest.MonkeyPatch, pages: str, in_parts: bool, most: int, status: int
) -> None:
    def share(writer: Any) -> None:
        stream = DecodedStreamObject()
        stream.set_data(b"0 0 m " * 200)
        content = writer._add_object(stream)
        for page in writer.pages:
            page[NameObject("/Contents")] = ArrayObject([content]) if in_parts else content

    monkeypatch.setattr(stamping, "MOST_BYTES", most)
    answer: Any = browser(site).post(print_address(make_pdf(site, change_pdf(pdf(*pages), share))))
    assert answer.status_code == status
    assert answer.getvalue().startswith(b"%PDF" if status == 200 else b"")
    assert ControlledPrint.objects.exists() == (status == 200)


def placements(page: Any) -> tuple[Any, Any, tuple[float, float]]:
    """Return where a page draws its old content and its band, and the band's size."""
    content, band = re.findall(r"q ([-\d. ]+) cm /\w+ Do Q", page.get_contents().get_data().decode())
    size = page["/Resources"]["/XObject"]["/Stamp"]["/BBox"][2:]
    matrices = []
    for text in (content, band):
        matrix: Any = tuple(float(number) for number in text.split())
        matrices.append(Transformation(matrix))
    return matrices[0], matrices[1], (float(size[0]), float(size[1]))


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("size", [(595, 842), (842, 595), (2384, 3370), (105, 74), (4000, 60)])
def test_pages_keep_their_size_and_rotation_and_the_band_hides_nothing(
    site: Site, rotation: int, size: tuple[float, float]
) -> None:
    x0, bottom, (right, top) = 10.0, 15.0, size

    def turn(writer: Any) -> None:
        writer.pages[0].rotate(rotation)
        writer.pages[0].cropbox = RectangleObject((x0, bottom, right, top))

    content = change_pdf(pdf("Text", size=size), turn)
    page = PdfReader(BytesIO(print_copy(browser(site), make_pdf(site, content)))).pages[0]
    assert tuple(map(float, page.mediabox)) == (0, 0, *size)
    assert tuple(map(float, page.cropbox)) == (x0, bottom, *size)
    assert page.rotation == rotation

    def as_seen(point: tuple[float, float]) -> tuple[float, float]:
        """Return a point from the page's left and lower edges as it is turned clockwise by a reader."""
        x, y = point
        return {
            0: (x - x0, y - bottom),
            90: (y - bottom, right - x),
            180: (right - x, top - y),
            270: (top - y, x - x0),
        }[rotation]

    width, height = as_seen({0: (right, top), 90: (x0, top), 180: (x0, bottom), 270: (right, bottom)}[rotation])
    old, band, band_size = placements(page)
    assert as_seen(band.apply_on((0, 0))) == pytest.approx((0, 0), abs=0.1)
    upper = as_seen(band.apply_on(band_size))
    assert upper[0] == pytest.approx(width, abs=0.1)
    assert 0 < upper[1] <= 0.25 * height + 0.1
    corners = [as_seen(old.apply_on((x, y))) for x in (x0, right) for y in (bottom, top)]
    assert min(y for _, y in corners) == pytest.approx(upper[1], abs=0.1)
    assert max(y for _, y in corners) == pytest.approx(height, abs=0.1)
    assert min(x for x, _ in corners) == pytest.approx(width - max(x for x, _ in corners), abs=0.1)


def test_what_a_file_does_by_itself_is_left_out_and_form_fields_move_with_the_page(site: Site) -> None:
    def arm(writer: Any) -> None:
        script = DictionaryObject(
            {NameObject("/S"): NameObject("/JavaScript"), NameObject("/JS"): TextStringObject("app.alert(1)")}
        )
        writer.root_object[NameObject("/OpenAction")] = script
        names = DictionaryObject({NameObject("/Names"): ArrayObject([TextStringObject("a"), script])})
        writer.root_object[NameObject("/Names")] = DictionaryObject({NameObject("/JavaScript"): names})
        writer.add_attachment("secret.txt", b"secret")
        note = DictionaryObject(
            {
                NameObject("/Subtype"): NameObject("/FreeText"),
                NameObject("/Rect"): RectangleObject((100, 0, 200, 10)),
                NameObject("/Contents"): TextStringObject("Note"),
            }
        )
        writer.add_annotation(0, note)

    reader: Any = PdfReader(BytesIO(print_copy(browser(site), make_pdf(site, change_pdf(pdf(), arm)))))
    names = reader.root_object.get("/Names", {})
    assert "/JavaScript" not in names
    assert "/OpenAction" not in reader.root_object
    assert not reader.attachments
    x0, bottom, right, top = (float(edge) for edge in reader.pages[0]["/Annots"][0].get_object()["/Rect"])
    assert bottom > 15
    assert right - x0 == pytest.approx(10 * (top - bottom), rel=0.01)
    assert right - x0 < 100


def test_content_in_parts_and_content_that_pages_share_is_drawn_on_each(site: Site) -> None:
    def share(writer: Any) -> None:
        first, second = writer.pages
        second[NameObject("/Contents")] = first.raw_get("/Contents")

    pages = texts_of(print_copy(browser(site), make_pdf(site, change_pdf(pdf("Shared", "Other"), share))))
    assert ["Shared" in page for page in pages] == [True, True, False]


@pytest.mark.parametrize(
    "name", ["Händewaschen für Łódź", "Мытьё рук", "手洗い手順", "손 씻기", "غسل اليدين", "ก" * 255]
)
def test_names_of_any_script_are_stamped(site: Site, name: str) -> None:
    assert len(texts_of(print_copy(browser(site), make_pdf(site, name=name)))) == 3
