"""Append one change to its chain in one statement, so that the chain's head is locked only briefly (PostgreSQL).

The database joins the lines of the digest (`records.history.digests`), because only the database knows the number and
the hash of the previous change. Both come from the row of the chain's head, which the statement locks. A subquery would
read this row as it was when the statement began, so that two writers could follow the same change.
"""

import secrets
from functools import cache
from typing import Any

from django.apps import apps
from django.db import connection, models

from records.history.digests import VERSION, canonical, facts, value_digest, values_of
from records.history.english import stored_text
from records.history.inserts import insertion_of, json_text
from records.history.models import ChainHead, Change
from records.history.statements import Statement, parameter

MARK = 10**17 + secrets.randbelow(9 * 10**17)
"""A placeholder for the number of a new record until the database gives it. It is random, so no text contains it."""
_NAME, _NUMBER = 0, 3
"""The positions of the printed name and of the number among the values of a change whose first field is the number."""


def appending(change: Change) -> Statement:
    """Return the statement that stores a change at the end of its chain and updates the chain's head.

    The number of a new record (`Change.counts`) is read from the record's row, which an earlier statement stored.
    """
    lines, parameters = _lines(change)
    head = connection.ops.quote_name(ChainHead._meta.db_table)
    clause = f"""
WITH {_numbered(change)}lines AS (SELECT {lines} AS text{" FROM numbered" if change.counts else ""}),
     head AS (INSERT INTO {head} AS h (chain, number, previous, hash)
              SELECT %s, 1, '', {_sha256(_joined("''", "'1'"))} FROM lines
              ON CONFLICT (chain) DO UPDATE
                 SET number = h.number + 1, previous = h.hash,
                     hash = {_sha256(_joined("h.hash", "(h.number + 1)::text", "(SELECT text FROM lines)"))}
              RETURNING number, previous, hash)
"""  # noqa: S608 (no outside text)
    before = [parameter(change.record_id)] if change.counts else []
    computed: dict[str, Statement] = {
        "number": ("(SELECT number FROM head)", ()),
        "previous_hash": ("(SELECT previous FROM head)", ()),
        "hash": ("(SELECT hash FROM head)", ()),
    }
    if change.counts:
        fields = json_text(change.fields)
        computed["fields"] = ("jsonb_set(%s, '{0,new}', (SELECT to_jsonb(number) FROM numbered))", [fields])
        computed["record_name"] = (
            "(SELECT replace(%s, %s, number::text) FROM numbered)",
            [change.record_name, str(MARK)],
        )
    return insertion_of(change, computed, before=(clause, [*before, *parameters, parameter(change.chain)]))


def complete(change: Change, record: models.Model) -> None:
    """Put a new record's number and name into its change after the database has given the number."""
    change.fields[0]["new"] = getattr(record, change.counts)
    change.record_name = printed_name(record)


def printed_name(record: models.Model) -> str:
    """Return the name that a change shows for its record."""
    return stored_text(record)[:512]


def _numbered(change: Change) -> str:
    """Return the part of the WITH clause that reads a new record's number, or nothing."""
    if not change.counts:
        return ""
    table, column = _place_of_number(change.model, change.counts)
    return f"numbered AS (SELECT {column} AS number FROM {table} WHERE id = %s), "  # noqa: S608 (no outside text)


@cache
def _place_of_number(label: str, name: str) -> tuple[str, str]:
    model = apps.get_model(label)
    column: Any = model._meta.get_field(name)
    return connection.ops.quote_name(model._meta.db_table), connection.ops.quote_name(column.column)


def _lines(change: Change) -> Statement:
    """Return the SQL of the digest's lines that follow the number, each after a line feed."""
    parts = [facts(change).decode()]
    sql: list[str] = []
    parameters: list[object] = []

    def close() -> None:
        sql.append("%s::text")
        parameters.append("".join(f"\n{part}" for part in parts))
        parts.clear()

    for place, (salt, value) in enumerate(zip(change.salts, values_of(change), strict=True)):
        if not change.counts or place not in (_NAME, _NUMBER):
            parts.append(value_digest(salt, value))
            continue
        close()
        sql.append(f"chr(10) || {_sha256('%s || replace(%s, %s, number::text)')}")
        parameters += [f"{salt}\n", canonical(value).decode(), str(MARK)]
    if parts:
        close()
    return " || ".join(sql), parameters


def _joined(previous: str, number: str, lines: str = "lines.text") -> str:
    return f"'{VERSION}' || chr(10) || {previous} || chr(10) || {number} || {lines}"


def _sha256(text: str) -> str:
    return f"encode(sha256(convert_to({text}, 'UTF8')), 'hex')"
