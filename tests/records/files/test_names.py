"""Names of files hold no character that shows nothing or turns the direction of the text."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from documents.models import Document, DocumentVersion
from records.attachments.models import Attachment
from records.files.downloads import disposition
from records.files.names import without_hidden
from records.sites.models import Site
from tests.make import documents as docs
from tests.make.backoffice import address, browser, list_address, press
from tests.make.items import make_item

HIDDEN = (
    "\u202e\u202d\u202c\u202b\u202a\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\u200c\u200d\u2060\u2063\ufeff"
    "\u00ad\u180e\ufffb\u0085\u2028\U000e0041"
)
each_hidden = pytest.mark.parametrize("hidden", HIDDEN, ids=lambda one: f"U+{ord(one):04X}")


@each_hidden
def test_the_interface_refuses_such_a_name_and_stores_nothing(api: Any, site: Site, hidden: str) -> None:
    document, item = docs.make_document(site), make_item(site)
    body = docs.document_body(FileName=f"invoice{hidden}fdp.exe")
    file = {name: body[name] for name in ("FileName", "FileType", "FileContent")}
    for answer in (
        api.post("/document/AddDocument", body),
        api.put(f"/document/UpdateDocument/{document.pk}", body),
        api.post("/attachment/AddAttachment", {**file, "RecordId": str(item.pk)}),
        api.post("/document/AddDocument?validateOnly=true", body),
    ):
        assert answer.status_code == 400
        (fault,) = answer.json()["Fields"]
        assert (fault["Field"], fault["Code"]) == ("FileName", "InvalidValue")
    assert (Document.objects.count(), DocumentVersion.objects.count(), Attachment.objects.count()) == (1, 1, 0)


@each_hidden
def test_an_upload_in_the_browser_loses_such_a_character(site: Site, hidden: str) -> None:
    client, item, document = browser(site), make_item(site), docs.make_document(site)

    def upload() -> SimpleUploadedFile:
        return SimpleUploadedFile(f"inv{hidden}oice.txt", b"content", content_type="text/plain")

    data = {"name": "Hygiene", "first_number": "1", "file": upload(), "larder_site": str(site.pk)}
    client.post(f"{list_address(Document)}add/", data)
    press(client, f"{list_address(Document)}{document.pk}/do/upload/", {"file": upload(), "change_reason": "New tap."})
    client.post(reverse("admin:attachments_add", args=("item", item.pk)), {"files": upload()})
    assert Document.objects.get(name="Hygiene").file_name == "invoice.txt"
    assert docs.version_of(document).file_name == "invoice.txt"
    assert Attachment.objects.get().file_name == "invoice.txt"
    assert "invoice.txt" in client.get(address(item, "read")).content.decode()


def test_an_older_name_is_downloaded_without_such_characters() -> None:
    header = disposition("invoice\u202efdp.exe")
    assert header == "attachment; filename=\"invoicefdp.exe\"; filename*=UTF-8''invoicefdp.exe"


WITH_JOINERS = ("\u0646\u0627\u0645\u0647\u200c\u0647\u0627.pdf", "\u0915\u094d\u200d\u0937.txt", "👩\u200d🔬.png")
"""Persian, Hindi and an emoji, whose letters a joiner binds together or keeps apart."""


@pytest.mark.parametrize("name", [*WITH_JOINERS, "Händewaschen.txt", "手洗い.pdf", "a b.txt"])
def test_names_of_every_script_stay_as_they_are(name: str) -> None:
    assert without_hidden(name) == name
