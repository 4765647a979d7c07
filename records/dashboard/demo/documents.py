"""The demo's documents: procedures, instructions and forms in every state, each with a real PDF."""

import datetime
import io
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from documents import actions, approvals
from documents.models import Document, DocumentVersion
from records.accounts.confirmations import Confirmation
from records.accounts.models import User
from records.dashboard.demo.demo_site import DemoSite, content
from records.employees.actions import update_job_description
from records.files.content import UploadedPart
from records.sites.models import Entity

Fate = Callable[[DemoSite, Document], None]


def fill(place: DemoSite) -> None:
    """Add documents in every state, and let job descriptions name one."""
    fates: list[tuple[bool, bool, Fate]] = [
        (True, True, _approve),
        (False, False, _leave),
        (True, True, _leave),
        (True, True, _review),
        (True, True, _reject),
        (True, True, _approve_twice),
        (True, True, _approve_then_add_version),
        (True, False, _review),
        (False, True, _approve),
    ]
    place.records["Document"] = []
    for idx, row in enumerate(content("documents")["documents"][: None if place.main else 9]):
        has_reviewer, has_approver, fate = fates[idx % len(fates)]
        document = _add(place, idx, row, has_reviewer=has_reviewer, has_approver=has_approver)
        fate(place, document)
        place.records["Document"].append(document)
    for idx, job in enumerate(place.records.get("JobDescription", ())[:3]):
        values = {"document": place.records["Document"][idx]}
        reason = "The job's instruction is a controlled document now."
        update_job_description(place.site.pk, job.pk, values, author=place.author(), reason=reason)


def _add(place: DemoSite, idx: int, row: dict[str, str], *, has_reviewer: bool, has_approver: bool) -> Document:
    name, description = row["name"], row["description"]
    values = {
        "name": name,
        "description": description,
        "entity_folder": place.folder(Entity.DOCUMENT, row["folder"]),
        "review_date": place.days_ago(-(idx * 37 % 400) + 40).replace(hour=0, minute=0),
        "user_to_review": [place.users["reviewer"]] if has_reviewer else [],
        "user_to_approve": [place.users["approver"]] if has_approver else [],
        "user_to_notify": [place.users["standard"], place.users["reader"]] if idx % 3 == 0 else [],
    }
    file, facts = _pdf(place, name, description, 1)
    return actions.add_document(place.site.pk, {**values, **facts}, file, author=place.author())


def _add_version(place: DemoSite, document: Document) -> None:
    file, facts = _pdf(place, document.name, document.description, 2)
    values = {"name": document.name, **facts}
    reason = "Yearly review."
    author = place.author()
    actions.update_document(place.site.pk, document.pk, values, file, author=author, reason=reason)


def _pdf(place: DemoSite, name: str, description: str, number: int) -> tuple[UploadedPart, dict[str, Any]]:
    """Return a PDF of one page, with its file name, type and content."""
    page = io.BytesIO()
    canvas = Canvas(page, pagesize=A4, invariant=True)
    canvas.setTitle(name)
    canvas.setFont("Helvetica-Bold", 20)
    canvas.drawString(72, 760, name)
    canvas.setFont("Helvetica", 11)
    valid = place.today - datetime.timedelta(days=30)
    for line, text in enumerate((description, f"{place.site.name}, version {number}, {valid:%d %B %Y}")):
        canvas.drawString(72, 730 - 18 * line, text)
    canvas.save()
    file_name = f"{name.lower().replace(' ', '-')}-v{number}.pdf"
    facts = {"file_type": "application/pdf", "file_name": file_name}
    return UploadedPart(ContentFile(page.getvalue(), file_name), settings.FILE_SIZE_LIMIT), facts


# --- What became of a document --------------------------------------------------------------------------------------


def _leave(place: DemoSite, document: Document) -> None:
    """Leave the version in its first status."""


def _sign(place: DemoSite, document: Document, who: str, how: Callable[..., object], comment: str = "") -> None:
    user: User = place.users[who]
    version = DocumentVersion.objects.filter(document=document).latest("version")
    # The people of the demo get their passwords when it is filled.
    how(
        version.pk,
        user,
        "",
        author=place.author(user),
        comment=comment,
        confirm=lambda user, password: Confirmation.PASSWORD,
    )


def _review(place: DemoSite, document: Document) -> None:
    _sign(place, document, "reviewer", approvals.sign_review, "Matches practice on the line.")


def _approve(place: DemoSite, document: Document) -> None:
    if document.user_to_review.exists():
        _review(place, document)
    _sign(place, document, "approver", approvals.approve)


def _reject(place: DemoSite, document: Document) -> None:
    _sign(place, document, "reviewer", approvals.reject, "The rinse temperature is missing in step 4.")


def _approve_twice(place: DemoSite, document: Document) -> None:
    _approve(place, document)
    _add_version(place, document)
    _approve(place, document)


def _approve_then_add_version(place: DemoSite, document: Document) -> None:
    _approve(place, document)
    _add_version(place, document)
