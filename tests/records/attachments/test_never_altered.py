"""An attachment is never altered: no door changes its file, name or hash, and what is changed past the product shows.

See also DECISIONS 12.1.
"""

import hashlib
import io
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.attachments import actions
from records.attachments.models import Attachment
from records.attachments.views import AttachmentViewSet
from records.complaints import actions as complaints
from records.complaints.erasure import erase_consumer
from records.files import storage
from records.history.models import Change
from records.history.verification import verify
from records.operations.operation import all_operations
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.attachments import make_attachment
from tests.make.backoffice import address, browser
from tests.make.complaints import make_complaint
from tests.make.documents import base64_of
from tests.make.items import make_item
from tests.records.attachments.test_attachment_pages import upload

CONTENT = b"A photo of the crate."
BOOKKEEPING = {"is_archived", "revision", "last_modified", "last_modified_by_id"}


@pytest.fixture
def attachment(site: Site) -> Attachment:
    """Return an attachment of a complaint about which a consumer is known."""
    complaint = make_complaint(site, consumer_last_name="Przybylski")
    fields = {"name": "The crate", "description": "Its rim.", "file_name": "Przybylski.png", "file_type": "image/png"}
    return make_attachment(site, on=complaint, content=CONTENT, **fields)


def add_under_its_id(site: Site, attachment: Attachment) -> None:
    """Add another file by the JSON interface, with the Id that the first one has."""
    body = {"Id": str(attachment.pk), "RecordId": str(attachment.record_id), "FileName": "other.png"}
    data = {**body, "FileType": "image/png", "FileContent": base64_of(b"Another photo.")}
    Api(make.make_key(site, DefaultRole.MANAGER)).post("/attachment/AddAttachment", data)


def upload_under_its_id(site: Site, attachment: Attachment) -> None:
    """Upload another file from the record's page under the id, as the page does when an answer was lost."""
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    for record in (attachment.about(), make_item(site)):
        upload(client, record, ("other.png", b"Another photo.", "image/png"), once=str(attachment.pk))


def save_its_form(site: Site, attachment: Attachment) -> None:
    """Send a form with other values to the attachment's page, and put a former value back."""
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    data = {"name": "Other", "description": "Other", "file_name": "other.png", "change_reason": "Better"}
    assert client.post(address(attachment), data).status_code == 403
    change = Change.objects.get(record_id=attachment.pk)
    for name in ("name", "description", "file_name", "file_hash"):
        url = reverse("admin:attachments_attachment_put_back", args=(attachment.pk, change.pk, name))
        assert client.post(url, {"change_reason": "It was right"}).status_code in (403, 404)


def change_it_with_others(site: Site, attachment: Attachment) -> None:
    """Move it to a folder together with others, from the list."""
    data = {"step": "entity_folder", "_selected_action": [str(attachment.pk)], "entity_folder": str(site.pk)}
    url = reverse("admin:attachments_attachment_bulk")
    answer = browser(site).post(url, {**data, "confirm": "yes", "change_reason": "Tidied up"})
    assert answer.status_code == 403


def import_it(site: Site, attachment: Attachment) -> None:
    """Import a file with the attachment's Id and another name."""
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert client.get(reverse("admin:attachments_attachment_import")).status_code in (403, 404)


def archive_and_restore(site: Site, attachment: Attachment) -> None:
    """Archive it and restore it again."""
    make.archive(attachment, reason="Wrong photo.")
    make.archive(attachment, archived=False, reason="It was right.")


def change_its_record(site: Site, attachment: Attachment) -> None:
    """Change the record that it belongs to, and archive that."""
    values = {"consumer_last_name": "Berg", "trace_number": "L26-2"}
    record = attachment.about()
    assert record is not None
    complaints.update_complaint_detail(site.pk, record.pk, values, author=make.SYSTEM, may_change_completed=True)
    make.archive(record, reason="Twice.")


def erase_the_consumer(site: Site, attachment: Attachment) -> None:
    """Erase the consumer of the complaint, who is named by the file's name too."""
    erase_consumer(site.pk, attachment.record_id, author=make.SYSTEM, reason="Asked by letter")


DOORS: list[Callable[[Site, Attachment], None]] = [
    add_under_its_id,
    upload_under_its_id,
    save_its_form,
    change_it_with_others,
    import_it,
    archive_and_restore,
    change_its_record,
    erase_the_consumer,
]


def facts_of(attachment: Attachment) -> dict[str, Any]:
    """Return everything that is stored of an attachment but who archived it and when, with the bytes of its file."""
    row = Attachment.objects.values().get(pk=attachment.pk)
    with default_storage.open(row["path"], "rb") as file:
        return {name: value for name, value in row.items() if name not in BOOKKEEPING} | {"bytes": file.read()}


@pytest.mark.parametrize("through", DOORS, ids=lambda door: door.__name__)
def test_no_door_alters_the_file_its_name_or_its_hash(
    site: Site, attachment: Attachment, through: Callable[[Site, Attachment], None]
) -> None:
    before = facts_of(attachment)
    assert (before["bytes"], before["file_hash"]) == (CONTENT, hashlib.sha256(CONTENT).hexdigest())
    through(site, attachment)
    assert facts_of(attachment) == before
    assert not verify().faults
    operations = Change.objects.filter(record_id=attachment.pk).values_list("operation", flat=True)
    assert set(operations) <= {"AddAttachment", "ArchiveAttachment", "RestoreAttachment"}


def test_the_interface_has_one_operation_that_writes_attachments_and_it_adds() -> None:
    rows = [row for row, viewset in all_operations() if viewset is AttachmentViewSet and row.method != "GET"]
    assert [(row.method, row.name) for row in rows] == [("POST", "AddAttachment")]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("file_hash", hashlib.sha256(b"Another photo.").hexdigest()),
        ("file_name", "other.png"),
        ("file_size", 5),
        ("name", "Other"),
        ("description", "Other"),
        ("record_id", "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_what_is_altered_past_the_product_is_named_by_the_verification(
    attachment: Attachment, column: str, value: Any
) -> None:
    assert not verify().faults
    Attachment.objects.filter(pk=attachment.pk).update(**{column: value})
    message = f"the record was altered past its history: attachments.Attachment {attachment.pk}: {column}"
    assert any(fault.text.endswith(message) for fault in verify().faults)


def test_another_file_in_its_place_is_named_and_never_served(site: Site, attachment: Attachment) -> None:
    default_storage.delete(attachment.path)
    with default_storage.open(attachment.path, "wb") as file:
        file.write(b"Another photo.")
    out = io.StringIO()
    with pytest.raises(CommandError, match="1 of 1"):
        call_command("verify_files", stdout=out)
    assert str(attachment.pk) in out.getvalue()
    assert "its SHA-256 differs" in out.getvalue()
    answer = browser(site).get(reverse("admin:attachments_file", args=(attachment.pk,)))
    assert answer.status_code == 503
    assert b"Another photo." not in answer.getvalue()


@pytest.mark.django_db(transaction=True)
def test_uploads_at_the_same_moment_do_not_exceed_the_limit_of_the_site(settings: Any) -> None:
    site = make.make_site()
    item = make_item(site)
    settings.SITE_ATTACHMENTS_LIMIT = 29
    before = set(storage.walk())
    results = make.at_once(*[partial(make_attachment, site, on=item, content=b"Ten bytes.")] * 6)
    assert sum(isinstance(one, Attachment) for one in results) == 2
    assert sum(isinstance(one, actions.SiteFullError) for one in results) == 4
    assert actions.used_by(site.pk) == 20
    paths = set(Attachment.objects.values_list("path", flat=True))
    assert paths == set(storage.walk()) - before
    assert list(Attachment.objects.order_by("site_sequence_id").values_list("site_sequence_id", flat=True)) == [1, 2]
