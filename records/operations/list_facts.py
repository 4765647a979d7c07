"""What a list needs to know in addition to its rows; one statement before them."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.exceptions import EmptyResultSet
from django.db import connection, models

from records.accounts.opening import PROOF_SQL, AccessProof, check
from records.history.moments import until_column, until_of
from records.history.replica import Heads, head_columns
from records.history.statements import Rows, Statement, together
from records.sites.models import Entity
from records.sites.sequences import totals_source


@dataclass(frozen=True, slots=True)
class Facts:
    """Until when changes are visible, how many records are numbered and archived, and how many were counted.

    `heads` says how far a replica must have replayed the history to answer the rest of the list.
    """

    visible_until: datetime.datetime
    last_number: int
    archived: int
    count: int
    heads: Heads | None = None


def facts(
    site_id: uuid.UUID,
    entity: Entity | None = None,
    *,
    count_rows: models.QuerySet[models.Model, object] | None = None,
    proof: AccessProof | None = None,
    heads: bool = False,
    next_statements: Sequence[Statement] = (),
) -> tuple[Facts, list[Rows]]:
    """Return what a list of the site needs to know, and check the caller's proof; one statement.

    `next_statements` run after it, on PostgreSQL in the same round trip; returns the rows of each of them.

    `entity` asks for the stored totals of the site's records, `count_rows` for the number of a query's rows; without
    them the numbers are 0. `heads` asks for what a replica has to know. Raises StaleAccessError.
    """
    columns: list[tuple[str, tuple[object, ...]]] = [until_column(site_id)]
    source, of_source = ("", ()) if entity is None else totals_source(site_id, entity)
    columns += [("0", ()), ("0", ())] if entity is None else [("totals.last", ()), ("totals.archived", ())]
    columns.append(("0", ()) if count_rows is None else _count_column(count_rows))
    columns.append(("0", ()) if proof is None else (PROOF_SQL, proof.owners))
    if heads:
        columns += head_columns(site_id)
    sql = f"SELECT {', '.join(column for column, _ in columns)} {source}"
    parameters = [parameter for _, values in columns for parameter in values]
    [row], *answers = together([(sql, [*parameters, *of_source]), *next_statements])
    if proof is not None:
        check(proof, row[4])
    newest = (site_id, row[5] or 0, row[6] or 0) if heads else None
    return Facts(until_of(row[0]), row[1] or 0, row[2] or 0, row[3], newest), answers


def _count_column(rows: models.QuerySet[models.Model, object]) -> tuple[str, tuple[object, ...]]:
    try:
        sql, parameters = rows.order_by().values("pk").query.get_compiler(connection=connection).as_sql()
    except EmptyResultSet:
        return "0", ()
    return f"(SELECT COUNT(*) FROM ({sql}) counted)", tuple(parameters)  # noqa: S608 (the ORM's own statement)
