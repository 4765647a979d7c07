"""A repeated write with the same key gets the answer of the first one (DECISIONS 1.14)."""

import datetime
import hashlib
import uuid
from collections.abc import Callable, Iterable

from django.db import connection
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse

from records.accounts.models import KeptAnswer
from records.history.statements import Statement, parameter
from records.history.trail import recording
from records.operations.errors import ApiError

LIFETIME = datetime.timedelta(hours=24)
"""Measured by the clock of the database, so that a wrong clock on one machine never repeats a write."""
LONGEST = 255
_CLOCKS = {
    "postgresql": ("STATEMENT_TIMESTAMP()", "STATEMENT_TIMESTAMP() - INTERVAL '24 hours'"),
    "sqlite": ("STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')", "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', '-24 hours')"),
}
"""The present time, and the time before which an answer has expired, in the SQL of each database."""


def key_of(request: HttpRequest) -> str | None:
    """Return the request's Idempotency-Key, or None; raises the 400 if it is empty or too long."""
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
    """Act once per key, user, site and operation within 24 hours; the write's transaction stores the answer.

    `body` comes in parts, so that a large one is never copied. A simultaneous repeat waits at the unique key until the
    first request has committed. Raises the 409 if the body differs.
    """
    hasher = hashlib.sha256()
    for part in body:
        hasher.update(part)
    digest = hasher.hexdigest()
    where = {"user_id": user_id, "site_id": site_id, "operation": operation, "key": key}
    for _ in range(3):
        with recording(lambda: _claim_statements(where, digest)) as trail:
            _, claimed_rows = trail.answers
            if claimed_rows:
                trail.is_wrapper = True
                response = act()
                trail.store([_store_statement(claimed_rows[0][0], response)])
                return response
        stored_answer = KeptAnswer.objects.filter(**where).first()
        if stored_answer is not None:
            return _repeat(stored_answer, digest)
    raise ApiError(409, "IdempotencyMismatch", "The same key is being used by another request right now.")


def _claim_statements(where: dict[str, object], digest: str) -> list[Statement]:
    """Return the statements that delete an expired answer and claim the key if nobody has it."""
    row = KeptAnswer(**where, body_digest=digest)
    clock, old = _CLOCKS[connection.vendor]
    table = connection.ops.quote_name(KeptAnswer._meta.db_table)
    columns = ("user_id", "site_id", "operation", "key")
    parameters = [*map(parameter, (row.user_id, row.site_id)), row.operation, row.key]
    conditions = " AND ".join(f"{name} = %s" for name in columns)
    forget = f"DELETE FROM {table} WHERE {conditions} AND created <= {old}"  # noqa: S608 (no outside text)
    take = (
        f"INSERT INTO {table} ({', '.join(columns)}, body_digest, status, answer, etag, created) "  # noqa: S608
        f"VALUES (%s, %s, %s, %s, %s, %s, %s, %s, {clock}) ON CONFLICT ({', '.join(columns)}) DO NOTHING RETURNING id"
    )
    return [(forget, parameters), (take, [*parameters, digest, row.status, bytes(row.answer), row.etag])]


def _store_statement(row_id: int, response: HttpResponse) -> Statement:
    """Return the statement that stores an answer under the claimed key."""
    table = connection.ops.quote_name(KeptAnswer._meta.db_table)
    sql = f"UPDATE {table} SET status = %s, answer = %s, etag = %s WHERE id = %s"  # noqa: S608 (no outside text)
    return sql, [response.status_code, bytes(response.content), response.get("ETag", ""), row_id]


def _repeat(stored_answer: KeptAnswer, digest: str) -> HttpResponse:
    if stored_answer.body_digest != digest:
        raise ApiError(409, "IdempotencyMismatch", "This Idempotency-Key was used with another body.")
    response = HttpResponse(bytes(stored_answer.answer), status=stored_answer.status, content_type="application/json")
    response["Idempotency-Replayed"] = "true"
    if stored_answer.etag:
        response["ETag"] = stored_answer.etag
    return response


def forget_old_answers() -> int:
    """Delete the answers that were stored more than 24 hours ago; returns how many there were."""
    return KeptAnswer.objects.filter(created__lte=Now() - LIFETIME).delete()[0]
