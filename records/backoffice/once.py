"""What a form asks for is done once, even if it is sent again: by a double click, a reload, or a lost connection.

Each form that adds something carries an id of its own (`{% once %}`), and its page works within `process_once`. The
same content under the same id is refused the second time. Other content is processed, for example after going back to a
form that was saved.
"""

import hashlib
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from records.accounts.models import KeptAnswer
from records.backoffice.current import sites_of, user_of
from records.history.trail import recording
from records.sites.text import read_uuid

FIELD = "larder_once"
SAVED_ALREADY = _("This form was saved already. Nothing was added again.")


class DoneAlreadyError(Exception):
    """Raised for a form that was sent and acted on before; `back` is the page that says so (UnsavedInputMiddleware)."""

    def __init__(self, back: str = "") -> None:
        super().__init__()
        self.back = back


@contextmanager
def process_once(request: HttpRequest, back: str = "") -> Iterator[None]:
    """Let the block do, in one transaction, what the sent form asks for; raises DoneAlreadyError if that was done.

    `back` is the page to which the person is then redirected, the form's own page if it is empty. The key is recorded
    first: a form that is sent twice at the same moment waits here until the other request has ended.
    """
    values = _claim_of(request)
    with recording():
        if values is not None:
            try:
                claim(**values)
            except DoneAlreadyError as error:
                error.back = back or request.get_full_path()
                raise
        yield


def refuse_when_done(request: HttpRequest, back: str) -> None:
    """Raise DoneAlreadyError if the sent form was acted on, before the page reports anything else; one query."""
    values = _claim_of(request)
    if values is not None and KeptAnswer.objects.filter(**values).exists():
        raise DoneAlreadyError(back)


def _claim_of(request: HttpRequest) -> dict[str, Any] | None:
    """Return what is recorded of a sent form that is acted on; None for a form without an id."""
    user, key = user_of(request), key_of(request)
    # The site must be the same for both requests, even if the person works at another one meanwhile.
    site_id = user.home_site_id or min((site.pk for site in sites_of(request)), default=None)
    if not key or site_id is None:
        return None
    page = request.resolver_match.view_name if request.resolver_match else ""
    return {"user_id": user.pk, "site_id": site_id, "operation": page, "key": key}


def claim(user_id: uuid.UUID, site_id: uuid.UUID, operation: str, key: str) -> None:
    """Record, in the transaction of the write, that the form with this key is acted on. Raises DoneAlreadyError."""
    try:
        with transaction.atomic():
            KeptAnswer.objects.create(user_id=user_id, site_id=site_id, operation=operation, key=key, body_digest="")
    except IntegrityError as error:
        raise DoneAlreadyError from error


def key_of(request: HttpRequest) -> str:
    """Return the key of a sent form: its id and the digest of its content; empty for a form without an id."""
    once = read_uuid(request.POST.get(FIELD, ""))
    if once is None:
        return ""
    values = sorted((name, values) for name, values in request.POST.lists() if _is_content(name))
    files = sorted((name, file.name, digest_of(file)) for name, uploads in request.FILES.lists() for file in uploads)
    return f"{once} {hashlib.sha256(repr((values, files)).encode()).hexdigest()}"


def key_of_row(request: HttpRequest, once: uuid.UUID, row_id: uuid.UUID | str) -> uuid.UUID:
    """Return the primary key of the row that a form with this id adds; `row_id` is that of its site or record.

    A form that is sent again adds the same row. The key is a digest: a browser that could name it would give the row
    the Id of another record, and with it that record's attachments, actions, and history.
    """
    return uuid.uuid5(once, f"{user_of(request).pk} {row_id}")


def digest_of(upload: "UploadedFile[Any]") -> str:
    """Return the SHA-256 of an uploaded file, which can then be read from its start."""
    digest = hashlib.sha256()
    for piece in upload.chunks():
        digest.update(piece)
    upload.seek(0)
    return digest.hexdigest()


def _is_content(name: str) -> bool:
    """Return whether a sent value belongs to the record: not to the button or the page, and never a password."""
    return not name.startswith("_") and name not in ("csrfmiddlewaretoken", "larder_typed", "password", "credential")
