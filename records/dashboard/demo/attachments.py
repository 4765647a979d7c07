"""The demo's attachments: photos of complaints and of what was done about them, and certificates of items."""

import io

from django.core.files.base import ContentFile
from PIL import Image, ImageDraw

from records.attachments import actions
from records.dashboard.demo.demo_site import DemoSite
from records.files.content import UploadedPart
from records.sites.models import SiteRecord

LARGEST = 1024 * 1024
COLOURS = ("#b98a54", "#6f8fae", "#a5574c", "#5f8f63")


def fill(place: DemoSite) -> None:
    """Attach a few files to the site's newest complaints, items and actions."""
    for number, complaint in enumerate(place.records["Complaint"][-3:]):
        _attach(place, complaint, "sample.jpg", "image/jpeg", _photo(number), "The sample that the customer kept.")
    for item in place.records["Item"][:3]:
        text = f"Calibration certificate\n\n{item.name}, serial number {item.serial_number}\nWithin tolerance.\n"
        _attach(place, item, f"{item.code}.txt", "text/plain", text.encode(), "Certificate of the yearly calibration.")
    for number, action in enumerate(place.records["Action"][:2], start=3):
        _attach(place, action, "after.jpg", "image/jpeg", _photo(number), "After the repair.")


def _attach(place: DemoSite, record: SiteRecord, name: str, kind: str, content: bytes, description: str) -> None:
    values: dict[str, object] = {"file_name": name, "file_type": kind, "description": description}
    file = UploadedPart(ContentFile(content), LARGEST)
    actions.add_attachment(place.site.pk, values, file, author=place.author(), may=lambda permission: True, on=record)


def _photo(number: int) -> bytes:
    """Return a drawn picture of a loaf on a table, as a JPEG."""
    picture = Image.new("RGB", (640, 480), "#ddd6c8")
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 340, 640, 480), fill="#8d8479")
    draw.rounded_rectangle(
        (120, 180, 520, 380), radius=90, fill=COLOURS[number % len(COLOURS)], outline="#3b2d1e", width=6
    )
    draw.ellipse((300 + 20 * number, 250, 330 + 20 * number, 270), fill="#2b3f8f")
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=75)
    return out.getvalue()
