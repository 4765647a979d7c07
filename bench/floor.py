"""The bare floor: WSGI, psycopg and orjson, one prepared statement; the best that this machine could reach."""

import base64
import hashlib
import json
import os
import tempfile
import threading
import uuid
from typing import Any

import orjson
import psycopg

STATEMENTS: dict[str, str] = json.loads(os.environ.get("FLOOR_STATEMENTS", "{}"))
"""By name: what GET /<name>/<id> reads, or what POST or PUT /<name> writes with the body's values and a fresh `key`."""
PIECE = 1 << 18
_local = threading.local()


def connection() -> psycopg.Connection[Any]:
    """Return the thread's connection, on which repeated statements are prepared at once."""
    if not hasattr(_local, "connection"):
        _local.connection = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=0)
    return _local.connection


def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer a request by one statement, an upload by a file, and anything else by nothing."""
    _, name, *rest = environ["PATH_INFO"].split("/")
    if name == "upload":
        answer = _upload(environ)
    elif name not in STATEMENTS:
        answer = b"{}"
    elif environ["REQUEST_METHOD"] == "GET":
        answer = _read(STATEMENTS[name], rest)
    else:
        answer = _write(STATEMENTS[name], environ)
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]


def _read(sql: str, rest: list[str]) -> bytes:
    cursor = connection().execute(sql.encode(), tuple(uuid.UUID(part) for part in rest if part))
    names = [column.name for column in cursor.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return orjson.dumps(rows if len(rows) > 1 else rows[0], default=str)


def _write(sql: str, environ: dict[str, Any]) -> bytes:
    body = orjson.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
    key = uuid.uuid4()
    connection().execute(sql.encode(), {**body, "key": key})
    return orjson.dumps({"Error": "", "Message": "Success.", "Id": str(key)})


def _upload(environ: dict[str, Any]) -> bytes:
    """Store the text between the last quotation marks, which is base64, piece by piece and flush it to the disk."""
    remaining, buffer, digest = int(environ["CONTENT_LENGTH"]), b"", hashlib.sha256()
    with tempfile.TemporaryFile() as file:
        while remaining:
            piece = environ["wsgi.input"].read(min(PIECE, remaining))
            remaining -= len(piece)
            text = buffer + piece.rpartition(b'"FileContent":"')[2].partition(b'"')[0]
            length = len(text) // 4 * 4
            content, buffer = base64.b64decode(text[:length]), text[length:]
            digest.update(content)
            file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return orjson.dumps({"FileHash": digest.hexdigest()})
