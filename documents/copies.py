"""Controlled prints: numbered paper copies of a version in force, each recorded in the history."""

import datetime
import uuid

from django.db.models import Max
from django.utils.translation import gettext

from documents.models import IN_FORCE, ControlledPrint, Document, DocumentVersion
from records.accounts.models import User
from records.history.trail import Author, recording
from records.sites.text import refuse
from records.sites.writing import RecordNotFoundError, add_record


class NumberTakenError(Exception):
    """Raised when somebody else has taken the copy number in the meantime."""


def is_printable(version: DocumentVersion) -> bool:
    """Return whether the version's file says that it is a PDF, by its type or by its name."""
    kind = version.file_type.partition(";")[0].strip().lower()
    return kind == "application/pdf" or version.file_name.lower().endswith(".pdf")


def next_number(version: DocumentVersion) -> int:
    """Return the number of the version's next copy; the first one is 1. One query."""
    newest: int | None = version.prints.aggregate(newest=Max("number"))["newest"]
    return (newest or 0) + 1


def add(version_id: uuid.UUID, number: int, user: User, *, date: datetime.datetime, author: Author) -> ControlledPrint:
    """Record that the person printed a copy of a version in force, under the version's next number.

    The copy is made before it is recorded. A file that cannot be printed therefore does not use up a number, and nobody
    waits while another person's copy is made. Raises NumberTakenError if the number is not the next one any more; the
    caller then makes the copy again. Raises RecordNotFoundError for a version that does not exist, and ValidationError
    (InvalidTransition) for one that is not in force any more or whose document is archived.
    """
    with recording():
        version = DocumentVersion.objects.filter(pk=version_id).first()
        if version is None:
            raise RecordNotFoundError
        # This runs under the document's lock, so that copies are counted one after the other, and a newer version comes
        # into force either before or after it.
        document = Document.objects.select_for_update(of=("self",), no_key=True).get(pk=version.document_id)
        version.refresh_from_db(fields=["record_status"])
        if version.record_status not in IN_FORCE or document.is_archived:
            raise refuse(gettext("This version is not in force any more. Nothing was printed."))
        if number != next_number(version):
            raise NumberTakenError
        version.document = document
        copy = ControlledPrint(
            site_id=version.site_id,
            document=document,
            version=version,
            number=number,
            user=user,
            user_name=user.printed_name[:255],
            date=date,
            file_hash=version.file_hash,
        )
        add_record(copy, author=author, operation="ControlledPrint", skip=("site", "document", "version", "user"))
    return copy
