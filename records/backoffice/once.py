"""What a form asks for is done once, even if it is sent again: by a double click, a reload, or a lost connection.

Each form for a new record or for a step carries an id of its own. The same content under the same id is refused the
second time. Other content is acted on, for example after going back to a form that was saved.
"""

import hashlib
import uuid

from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from records.accounts.models import KeptAnswer
from records.sites.text import read_uuid

FIELD = "larder_once"
SAVED_ALREADY = _("This form was saved already. Nothing was added again.")


class DoneAlreadyError(Exception):
    """Raised for a form that was sent and acted on before."""


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
    sent = sorted((name, values) for name, values in request.POST.lists() if _is_content(name))
    files = sorted((name, one.name, one.size) for name, several in request.FILES.lists() for one in several)
    return f"{once} {hashlib.sha256(repr((sent, files)).encode()).hexdigest()}"


def _is_content(name: str) -> bool:
    """Return whether a sent value belongs to the record: not to the button or the page, and never a password."""
    return not name.startswith("_") and name not in ("csrfmiddlewaretoken", "larder_typed", "password", "credential")
