"""Many rows for the measurements, and the bare statements that the product is compared with."""

import io
from collections.abc import Mapping
from typing import Any

import orjson
from django.db import connection

from bench.harness import Body
from records.operations.calls import buffer


def migrate() -> None:
    """Migrate the measured database; lines of logs wait in memory as they do in the server."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    if not buffer._is_enabled:
        buffer.write_by_itself()


def sql(statement: str, *parameters: Any) -> list[Any]:
    """Run a statement and return its rows, if it has any."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters or None)
        return cursor.fetchall() if cursor.description else []


def call(method: str, path: str, headers: Mapping[str, str], body: Any = None, kind: str = "application/json") -> bytes:
    """Send a request to the application, in this process, as the server does; returns the content of the answer.

    Django's test client does work of its own, which would count as the product's. Fails unless the request went well.
    """
    from config.wsgi import application

    data = b"" if body is None else orjson.dumps(body)
    path, _, query = path.partition("?")
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": kind,
        "CONTENT_LENGTH": str(len(data)),
        "HTTP_HOST": "127.0.0.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.input": io.BytesIO(data),
        "wsgi.url_scheme": "http",
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
    }
    statuses: list[str] = []
    content = b"".join(application(environ, lambda status, *_: statuses.append(status)))
    assert statuses[0].startswith("2"), (method, path, statuses, content[:300])
    return content


def copy(template: Any, count: int, first: int = 1, **columns: str) -> None:
    """Store copies of a row, of which these columns differ: each an expression of `n`, the number of the copy."""
    table = template._meta.db_table
    names = [field.column for field in template._meta.concrete_fields]
    select = ", ".join(columns.get(name, f't."{name}"') for name in names)
    into = ", ".join(f'"{name}"' for name in names)
    sql(
        f"INSERT INTO {table} ({into}) SELECT {select} "  # noqa: S608
        f"FROM {table} t, generate_series({first}, {first + count - 1}) n WHERE t.id = '{template.pk}'"
    )


def reading(model: Any) -> str:
    """Return the statement that reads a row by its id."""
    columns = ", ".join(f'"{field.column}"' for field in model._meta.concrete_fields)
    return f"SELECT {columns} FROM {model._meta.db_table} WHERE id = %s"  # noqa: S608


def adding(template: Any) -> str:
    """Return the statement that copies the template's row under a fresh key and the next number of its site."""
    table = template._meta.db_table
    columns = [field.column for field in template._meta.concrete_fields]
    values = {"id": "%(key)s::uuid", "site_sequence_id": "taken.last"}
    select = ", ".join(values.get(column, f"t.{column}") for column in columns)
    next_number = f"UPDATE sites_sitesequence SET last = last + 1 WHERE site_id = '{template.site_id}'"  # noqa: S608
    next_number += f" AND entity = '{template.ENTITY}' RETURNING last"
    row = f"SELECT {select} FROM {table} t, taken WHERE t.id = '{template.pk}'"  # noqa: S608
    return f"WITH taken AS ({next_number}) INSERT INTO {table} ({', '.join(columns)}) {row}"


def numbered(text: str) -> Body:
    """Return bodies in which the mark `@` is the number of the request."""
    return lambda number: text.replace("@", str(number)).encode()
