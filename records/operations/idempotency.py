"""Answering a repeated POST what the first one answered (DECISIONS 1.14)."""

import datetime
import hashlib
import uuid
from collections.abc import Callable, Iterable

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse

from records.accounts.models import KeptAnswer
from records.history.trail import recording
from records.operations.errors import ApiError

LIFETIME = datetime.timedelta(hours=24)
"""Measured by the clock of the database, so that a clock set wrong on one machine repeats no write."""
LONGEST = 255


def key_of(request: HttpRequest) -> str | None:
    """Return the request's Idempotency-Key, or None; raises the 400 for one that is empty or too long."""
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return None
    if not 1 <= len(key) <= LONGEST or not key.isprintable():
        raise ApiError(400, "InvalidParameter", "Idempotency-Key must have 1 to 255 printable characters.")
    return str(key)


def once(
    key: str,
    *,
    user_id: uuid.UUID,
    site_id: uuid.UUID,
    operation: str,
    body: Iterable[bytes | bytearray],
    act: Callable[[], HttpResponse],
) -> HttpResponse:
    """Act once per key, user, site and operation within 24 hours; the answer is kept in the write's transaction.

    `body` comes in parts, so that a large one is never copied.

    A simultaneous repeat waits at the unique key until the first has committed. Raises the 409 where the body differs.
    """
    hashed = hashlib.sha256()
    for part in body:
        hashed.update(part)
    digest = hashed.hexdigest()
    where = {"user_id": user_id, "site_id": site_id, "operation": operation, "key": key}
    for _ in range(3):
        kept = KeptAnswer.objects.filter(**where, created__gt=Now() - LIFETIME).first()
        if kept is not None:
            return _repeat(kept, digest)
        try:
            with recording():
                KeptAnswer.objects.filter(**where, created__lte=Now() - LIFETIME).delete()
                with transaction.atomic():
                    row = KeptAnswer.objects.create(**where, body_digest=digest, created=Now())
                response = act()
                row.status, row.answer = response.status_code, bytes(response.content)
                row.etag = response.get("ETag", "")
                row.save(update_fields=["status", "answer", "etag"])
                return response
        except IntegrityError:
            if not KeptAnswer.objects.filter(**where).exists():
                raise
    raise ApiError(409, "IdempotencyMismatch", "The same key is being used by another request right now.")


def _repeat(kept: KeptAnswer, digest: str) -> HttpResponse:
    if kept.body_digest != digest:
        raise ApiError(409, "IdempotencyMismatch", "This Idempotency-Key was used with another body.")
    response = HttpResponse(bytes(kept.answer), status=kept.status, content_type="application/json")
    response["Idempotency-Replayed"] = "true"
    if kept.etag:
        response["ETag"] = kept.etag
    return response


def forget_old_answers() -> int:
    """Delete the answers kept for longer than 24 hours; returns how many there were."""
    return KeptAnswer.objects.filter(created__lte=Now() - LIFETIME).delete()[0]
