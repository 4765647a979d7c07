"""The bare floor: WSGI, psycopg and orjson, one prepared query; the best that this machine could reach."""

import os
import threading
import uuid
from typing import Any

import orjson
import psycopg

_local = threading.local()


def connection() -> psycopg.Connection[Any]:
    """Return the thread's connection, on which repeated statements are prepared at once."""
    if not hasattr(_local, "connection"):
        _local.connection = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=0)
    return _local.connection


def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer `/read/<id>` with the row of FLOOR_QUERY, and POST `/write` by running FLOOR_INSERT in a transaction."""
    if environ["REQUEST_METHOD"] == "POST":
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = orjson.loads(environ["wsgi.input"].read(length))
        key = uuid.uuid4()
        with connection().transaction():
            connection().execute(os.environ["FLOOR_INSERT"].encode(), {**body, "key": key})
        answer = orjson.dumps({"Error": "", "Message": "Success.", "Id": str(key)})
    else:
        key = uuid.UUID(environ["PATH_INFO"].rpartition("/")[2])
        cursor = connection().execute(os.environ["FLOOR_QUERY"].encode(), (key,))
        row = cursor.fetchone()
        names = [column.name for column in cursor.description or ()]
        answer = orjson.dumps(dict(zip(names, row or (), strict=False)), default=str)
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]
