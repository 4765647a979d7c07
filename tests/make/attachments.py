"""Plain functions that make attachments for tests, through the actions that the product uses."""

import io
from typing import Any

from PIL import Image

from records.attachments import actions
from records.attachments.models import Attachment
from records.sites.models import Site
from tests import make
from tests.make import documents as docs
from tests.make.actions import everything, make_action
from tests.make.audits import make_audit, make_program
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer
from tests.make.documents import incoming
from tests.make.items import make_item
from tests.make.materials import make_material

MAKERS: dict[str, Any] = {
    "action": make_action,
    "audit": lambda site: make_audit(make_program(site)),
    "complaint": make_complaint,
    "customer": make_customer,
    "document": docs.make_document,
    "employee": make.make_employee,
    "item": make_item,
    "jobdescription": make.make_job_description,
    "material": make_material,
}
"""Makes a record of each kind that can have attachments."""


def make_attachment(site: Site, *, on: Any = None, content: bytes = b"", **fields: Any) -> Attachment:
    """Make an attachment on a record of the site; on a new item where none is named."""
    values = {"file_name": "photo.txt", "file_type": "text/plain", **fields}
    record = on or make_item(site)
    return actions.add_attachment(site.pk, values, incoming(content), author=make.SYSTEM, may=everything, on=record)


def jpeg() -> bytes:
    """Return a small picture."""
    out = io.BytesIO()
    Image.new("RGB", (80, 60), "red").save(out, "JPEG")
    return out.getvalue()
