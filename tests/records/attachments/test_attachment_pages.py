"""Attachments on records' pages: added, previewed without a photo's notes, served, archived, and hidden."""

import io
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from PIL import Image

from records.accounts.models import DefaultRole
from records.attachments import previews
from records.attachments.models import Attachment
from records.attachments.previews import EDGE, preview_of
from records.complaints import workflow
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.audits import make_audit, make_program
from tests.make.backoffice import address, browser, list_address, press
from tests.make.complaints import make_complaint
from tests.make.documents import make_document, sha256
from tests.make.items import make_item
from tests.make.materials import make_material

READER, STANDARD, MANAGER = DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER
ORIENTATION, GPS, COMMENT = 0x0112, 0x8825, b"taken at home"


def photo(size: tuple[int, int] = (1200, 800), orientation: int = 6) -> bytes:
    """Return a JPEG as a phone takes it: turned, and with the place where it was taken."""
    picture = Image.new("RGB", size, "red")
    picture.paste("blue", (0, 0, size[0] // 2, size[1]))
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    exif.get_ifd(GPS)[1] = "N"
    exif.get_ifd(GPS)[2] = (51.0, 30.0, 12.0)
    out = io.BytesIO()
    picture.save(out, "JPEG", exif=exif, comment=COMMENT)
    return out.getvalue()


def upload(client: Any, record: Any, *files: tuple[str, bytes, str], **data: Any) -> Any:
    """Send files from the record's page as its script does."""
    uploads = [SimpleUploadedFile(name, content, kind) for name, content, kind in files]
    url = reverse("admin:attachments_add", args=(record.ENTITY.value, record.pk))
    return client.post(url, {"files": uploads, **data}, headers={"Accept": "application/json"})


@pytest.mark.parametrize(
    "make_record",
    [make_complaint, make_document, make_item, make_material, make.make_employee, make_action],
)
def test_files_are_attached_on_the_page_of_a_record_several_at_once(site: Site, make_record: Any) -> None:
    client, record = browser(site, MANAGER), make_record(site)
    assert "No file is attached yet." in client.get(address(record)).content.decode()
    answer = upload(client, record, ("a.jpg", photo(), "image/jpeg"), ("b.txt", b"b", "text/plain"), description="Two")
    assert answer.status_code == 200, answer.content
    assert (len(answer.json()["added"]), answer.json()["faults"]) == (2, [])
    page = client.get(address(record)).content.decode()
    assert all(text in page for text in ("a.jpg", "b.txt", sha256(photo()), 'capture="environment"', "multiple"))
    picture = Attachment.objects.get(file_name="a.jpg")
    download = client.get(reverse("admin:attachments_file", args=(picture.pk,)))
    assert download.getvalue() == photo()
    assert Change.objects.filter(operation="AddAttachment", channel="Back-office").count() == 2


def test_the_name_of_a_refused_file_is_shown_as_it_is_written(site: Site) -> None:
    record = make_item(site)
    url = reverse("admin:attachments_add", args=("item", record.pk))
    data = {"files": SimpleUploadedFile("empty.txt", b"")}
    page = browser(site, DefaultRole.MANAGER).post(url, data, follow=True)
    assert ">empty.txt: The file is empty.<" in page.text


@pytest.mark.parametrize("size", [5, 3 * 1024 * 1024], ids=["in memory", "on the disk"])
def test_a_quotation_mark_in_a_files_name_is_stored_as_it_is(site: Site, size: int) -> None:
    client, record = browser(site, MANAGER), make_item(site)
    url = reverse("admin:attachments_add", args=("item", record.pk))
    body = (
        b'--x\r\nContent-Disposition: form-data; name="files"; filename="The %22new%22 label, 100%25.txt"\r\n'
        b"Content-Type: text/plain\r\n\r\n" + b"a" * size + b"\r\n--x--\r\n"
    )
    assert client.post(url, body, content_type="multipart/form-data; boundary=x").status_code == 302
    assert Attachment.objects.get().file_name == 'The "new" label, 100%25.txt'


def test_without_the_script_the_form_leads_back_to_the_page(site: Site) -> None:
    client, record = browser(site, MANAGER), make_item(site)
    url = reverse("admin:attachments_add", args=("item", record.pk))
    data = {"files": SimpleUploadedFile("a.txt", b"a"), "photo": SimpleUploadedFile("b.jpg", b"b")}
    answer = client.post(url, data, follow=True)
    assert answer.redirect_chain[0][0] == f"{address(record, 'read')}#attachments"
    assert "Attached: a.txt, b.jpg." in answer.content.decode()
    assert "Choose a file first." in client.post(url, {}, follow=True).content.decode()
    assert client.get(url).status_code == 405


def test_a_file_that_is_refused_leaves_the_others_in_place(site: Site, settings: Any) -> None:
    settings.FILE_SIZE_LIMIT = 10
    client, record = browser(site, MANAGER), make_item(site)
    answer = upload(client, record, ("a.txt", b"a", ""), ("b.txt", b"b" * 11, ""), ("c.txt", b"", ""))
    assert [len(answer.json()["added"]), len(answer.json()["faults"])] == [1, 2]
    assert "b.txt: A file may have 10" in answer.json()["faults"][0]
    settings.SITE_ATTACHMENTS_LIMIT = 1
    full = upload(client, record, ("d.txt", b"d", ""))
    assert full.status_code == 400
    assert "is full" in full.json()["faults"][0]


def test_an_attachment_belongs_to_a_finding_of_the_audit(site: Site) -> None:
    client, audit = browser(site, MANAGER), make_audit(make_program(site))
    finding = audit.findings.create(question="Are the crates whole?")
    assert upload(client, audit, ("a.txt", b"a", ""), finding=str(finding.pk)).status_code == 200
    assert "On the finding: Are the crates whole?" in client.get(address(audit)).content.decode()
    for wrong in ("abc", str(audit.pk)):
        assert upload(client, audit, ("a.txt", b"a", ""), finding=wrong).status_code == 400


def test_a_preview_is_upright_small_and_without_what_the_camera_wrote(site: Site) -> None:
    content = photo()
    assert COMMENT in content
    attachment = make_attachment(site, content=content, file_name="a.jpg", file_type="image/jpeg")
    client = browser(site, READER)
    url = reverse("admin:attachments_preview", args=(attachment.pk,))
    answer = client.get(url)
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/jpeg")
    with Image.open(io.BytesIO(answer.content)) as small:
        assert max(small.size) <= EDGE
        assert small.height > small.width  # It was taken upright.
        assert not small.getexif()
        assert small.info.keys().isdisjoint({"exif", "comment", "icc_profile", "xmp"})
        red, _, blue = small.getpixel((small.width // 2, 10))  # type: ignore[misc]
        assert blue > red
    assert client.get(url, headers={"If-None-Match": answer["ETag"]}).status_code == 304
    assert attachment.file_hash == sha256(content)


@pytest.mark.parametrize("kind", ["RGBA", "P", "L", "CMYK", "I;16", "1"])
def test_pictures_of_every_mode_have_a_preview(kind: str) -> None:
    out = io.BytesIO()
    Image.new(kind, (20, 10)).save(out, "TIFF")
    assert preview_of(io.BytesIO(out.getvalue()))


def bomb(edge: int = 14_000, mode: str = "1") -> bytes:
    """Return a small PNG with so many pixels on each side; by default Pillow raises an error instead of a warning."""
    out = io.BytesIO()
    Image.new(mode, (edge, edge)).save(out, "PNG")
    return out.getvalue()


NOT_DECODED: dict[str, Callable[[], bytes]] = {
    "text": lambda: b"abc",
    "cut": lambda: photo()[:2000],
    "gif": lambda: b"GIF89a",
    "bomb": bomb,
    "large": lambda: bomb(8_001),
    "large in colours": lambda: bomb(4_001, "RGB"),
}
"""Functions that return the content of each picture, because some take a second to make."""


def test_a_scan_in_black_and_white_may_have_more_pixels() -> None:
    assert preview_of(io.BytesIO(bomb(4_001)))


def test_a_process_decodes_one_picture_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work: list[int] = []
    most: list[int] = []

    def slow(picture: Any) -> bytes:
        at_work.append(1)
        most.append(len(at_work))
        time.sleep(0.05)
        at_work.pop()
        return b"preview"

    monkeypatch.setattr(previews, "_small", slow)
    assert make.at_once(*[lambda: preview_of(io.BytesIO(photo()))] * 4) == [b"preview"] * 4
    assert max(most) == 1


@pytest.mark.parametrize("kind", NOT_DECODED)
def test_what_cannot_be_decoded_has_no_preview_and_is_kept(site: Site, kind: str) -> None:
    content = NOT_DECODED[kind]()
    assert preview_of(io.BytesIO(content)) is None
    attachment = make_attachment(site, content=content, file_type="image/png")
    client = browser(site, READER)
    assert client.get(reverse("admin:attachments_preview", args=(attachment.pk,))).status_code == 404
    assert client.get(reverse("admin:attachments_file", args=(attachment.pk,))).getvalue()
    text = make_attachment(site)
    assert client.get(reverse("admin:attachments_preview", args=(text.pk,))).status_code == 404


@pytest.mark.parametrize(("role", "sees"), [(READER, False), (STANDARD, True)])
def test_a_complaints_attachments_are_shown_from_standard_on(site: Site, role: DefaultRole, sees: bool) -> None:
    complaint = make_complaint(site)
    attachment = make_attachment(site, on=complaint, file_name="consumer.txt")
    client = browser(site, role)
    assert ("consumer.txt" in client.get(address(complaint)).content.decode()) is sees
    assert ("consumer.txt" in client.get(list_address(Attachment)).content.decode()) is sees
    download = client.get(reverse("admin:attachments_file", args=(attachment.pk,)))
    assert (download.status_code, bool(download.getvalue())) == (200 if sees else 404, True)
    assert client.get(address(attachment)).status_code == (200 if sees else 404)


def test_whoever_may_not_change_the_record_is_shown_no_form_and_is_refused(site: Site, other_site: Site) -> None:
    item = make_item(site)
    client = browser(site, STANDARD)
    assert "data-upload " not in client.get(address(item)).content.decode()
    assert upload(client, item, ("a.txt", b"a", "")).status_code == 403
    assert upload(browser(other_site, MANAGER), item, ("a.txt", b"a", "")).status_code == 404
    assert client.post(f"/admin/attachments/on/attachment/{item.pk}/").status_code == 404
    assert not Attachment.objects.exists()


def test_an_owner_of_any_role_attaches_evidence_to_their_own_action(site: Site) -> None:
    owner = make.make_user(site=site, role=READER)
    client = browser(site, user=owner)
    assert upload(client, make_action(site, owner=owner), ("a.txt", b"a", "")).status_code == 200
    assert upload(client, make_action(site), ("a.txt", b"a", "")).status_code == 403


def test_a_draft_of_a_complaint_takes_files(site: Site) -> None:
    draft = workflow.add_draft(site.pk, {}, author=make.SYSTEM)
    assert upload(browser(site, STANDARD), draft, ("a.txt", b"a", "")).status_code == 200


def test_an_attachment_is_archived_with_a_reason_and_restored(site: Site) -> None:
    client, item = browser(site, MANAGER), make_item(site)
    attachment = make_attachment(site, on=item, file_name="wrong.txt")
    url = reverse("admin:attachments_attachment_step", args=(attachment.pk, "archive"))
    assert press(client, url, {"change_reason": " "}).status_code == 200
    page = press(client, url, {"change_reason": "Wrong photo."}, follow=True)
    assert "wrong.txt was archived." in page.text
    assert "wrong.txt" not in client.get(address(item)).content.decode()
    assert "wrong.txt" in client.get(list_address(Attachment) + "?archived=yes").content.decode()
    restore = reverse("admin:attachments_attachment_step", args=(attachment.pk, "restore"))
    assert press(client, restore, {"change_reason": "It was right."}).status_code == 302
    assert client.post(address(attachment), {"name": "x"}).status_code == 403


def test_the_records_history_tells_of_its_attachments_and_actions(site: Site) -> None:
    client, item = browser(site, MANAGER), make_item(site)
    upload(client, item, ("crate.jpg", photo(), "image/jpeg"))
    make_action(site, about=item, name="Replace the crates")
    make_attachment(site, file_name="other.txt")
    page = client.get(address(item, "history"))
    operations = [entry["change"].operation for entry in page.context["changes"]]
    assert operations == ["AddAction", "AddAttachment", "AddItem"]
    text = page.content.decode()
    assert "attachment crate.jpg" in text
    assert "action Replace the crates" in text
    assert "other.txt" not in text
    assert 'type="radio" name="from"' not in text  # Only moments of the item itself are compared, and there is one.


def test_the_list_says_how_much_of_the_sites_room_is_used(site: Site, settings: Any) -> None:
    settings.SITE_ATTACHMENTS_LIMIT = 10 * 1024**2
    make_attachment(site, content=b"x" * 2048)
    page = browser(site, READER).get(list_address(Attachment)).content.decode().replace("\xa0", " ")
    assert "This site&#x27;s attachments use 2.0 KB of 10.0 MB." in page
