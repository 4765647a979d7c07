"""Many rows for the measurements, and the bare statements that the product is compared with."""

from typing import Any

from django.db import connection

from bench.harness import Body
from records.operations.calls import buffer


def migrated() -> None:
    """Migrate the measured database; lines of logs wait in memory as they do in the server."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    if not buffer._wanted:
        buffer.write_by_itself()


def sql(statement: str, *parameters: Any) -> list[Any]:
    """Run a statement and return its rows, if it has any."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters or None)
        return cursor.fetchall() if cursor.description else []


def copy(template: Any, count: int, first: int = 1, **columns: str) -> None:
    """Store copies of a row, of which these columns differ: each an expression of `n`, the number of the copy."""
    table = template._meta.db_table
    names = [field.column for field in template._meta.concrete_fields]
    chosen = ", ".join(columns.get(name, f't."{name}"') for name in names)
    into = ", ".join(f'"{name}"' for name in names)
    sql(
        f"INSERT INTO {table} ({into}) SELECT {chosen} "  # noqa: S608
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
    copied = {"id": "%(key)s::uuid", "site_sequence_id": "taken.last"}
    chosen = ", ".join(copied.get(column, f"t.{column}") for column in columns)
    taken = f"UPDATE sites_sitesequence SET last = last + 1 WHERE site_id = '{template.site_id}'"  # noqa: S608
    taken += f" AND entity = '{template.ENTITY}' RETURNING last"
    copied_row = f"SELECT {chosen} FROM {table} t, taken WHERE t.id = '{template.pk}'"  # noqa: S608
    return f"WITH taken AS ({taken}) INSERT INTO {table} ({', '.join(columns)}) {copied_row}"


def numbered(text: str) -> Body:
    """Return bodies in which the mark `@` is the number of the request."""
    return lambda number: text.replace("@", str(number)).encode()
