"""Verifies the history: every chain against its head, every hash, and every stored record (DECISIONS 10.5).

The database compares the links of the chains in one statement each. The hashes are computed and the records compared
while one cursor reads the changes, record by record, so that the use of memory does not grow. Several processes read
the parts of a large history (`records.history.parallel`).
"""

import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.apps import apps
from django.db import connection, models, transaction

from records.history import digests, parallel
from records.history.models import INSTALLATION, ChainHead, Change
from records.history.replay import deviations, replay
from records.history.sets import id_of
from records.history.snapshots import Snapshot, excluded_from_history, snapshots
from records.history.stamps import member_deviations, stamp_deviations
from records.history.stored import Row, stored_rows
from records.history.uncompared import why_not_compared

RECORDS_AT_ONCE = 1000
ERASURE = "Erase"
"""The beginning of the names of the operations that erase values; their changes say from which earlier changes."""
MOST_CANDIDATES = 500
"""The number of other broken changes of a chain among which the former place of a moved change is searched."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: the chain, the number of the change (0 if the fault is not one change), and a sentence."""

    chain: uuid.UUID
    number: int
    text: str


@dataclass(slots=True)
class Report:
    """The result of a verification: the number of changes, the heads of the chains, and all faults."""

    changes: int = 0
    records: int = 0
    heads: list[ChainHead] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notices: list[Fault] = field(default_factory=list)
    """Records of two kinds that have one Id: the history is whole, and somebody has to decide about them."""

    broken: list[Row] = field(default_factory=list)
    """Changes whose hash does not match their content, until they are added to the faults."""

    def add(self, chain: uuid.UUID | str, number: int, text: str) -> None:
        """Add a fault."""
        self.faults.append(Fault(id_of(chain), number, text))

    def take(self, part: "Report") -> None:
        """Add the result of a part of the history."""
        self.changes += part.changes
        self.records += part.records
        self.faults += part.faults
        self.notices += part.notices
        self.broken += part.broken


def verify(processes: int | None = None) -> Report:
    """Verify the whole history, also while others write, and return the result.

    On PostgreSQL everything is read from one snapshot. On SQLite each process that reads a part of the history reads
    the changes and records of that part from one snapshot. `processes` is the number of reading processes; by default
    it is the number of cores if the history is large. Within another transaction only this process reads, because
    others would not see what the transaction wrote.
    """
    report = Report()
    alone = connection.in_atomic_block
    with one_moment():
        number = 1 if alone else processes or parallel.processes_for(Change.objects.count())
        with parallel.reading(_read_part if number == 1 else _read_part_apart, number) as parts:
            report.heads = list(ChainHead.objects.order_by("chain"))
            _compare_heads(report)
            _compare_links(report)
            _find_records_without_history(report)
            _find_contradictions(report)
            for part in parts:
                report.take(part)
    _name_broken(report)
    report.faults.sort(key=lambda fault: (str(fault.chain), fault.number))
    return report


@contextmanager
def one_moment(snapshot: str = "") -> Iterator[None]:
    """Read everything from one snapshot of the database; within another transaction, from that transaction's.

    `snapshot` is PostgreSQL's name of the snapshot of another transaction that is still open.
    """
    outermost = not connection.in_atomic_block
    if connection.vendor != "postgresql" or not outermost:
        # A transaction of SQLite reads from a snapshot. It must not be one that locks writers out.
        with _deferred_transaction() if outermost else transaction.atomic():
            yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if snapshot:
                statement = "SET TRANSACTION SNAPSHOT %s"  # takes a literal only
                cursor.execute(connection.ops.compose_sql(statement, [snapshot]))  # type: ignore[attr-defined]
            cursor.execute("SET LOCAL statement_timeout = 0")
        yield


@contextmanager
def _deferred_transaction() -> Iterator[None]:
    connection.ensure_connection()
    mode = connection.transaction_mode  # type: ignore[attr-defined]
    connection.transaction_mode = None  # type: ignore[attr-defined]
    try:
        with transaction.atomic():
            yield
    finally:
        connection.transaction_mode = mode  # type: ignore[attr-defined]


def _compare_heads(report: Report) -> None:
    """Compare each head with the newest change of its chain."""
    newest = dict(Change.objects.order_by().values_list("chain").annotate(models.Max("number")))
    hashes = {
        (change.chain, change.number): change.hash
        for change in Change.objects.order_by()
        .filter(number__in={*newest.values()}, chain__in=list(newest))
        .only("chain", "number", "hash")
    }
    for head in report.heads:
        last = newest.pop(head.chain, 0)
        if last < head.number:
            report.add(head.chain, last + 1, f"{_span(last + 1, head.number)} missing at the end of the chain")
        elif last > head.number:
            report.add(head.chain, head.number + 1, f"{_span(head.number + 1, last)} added after the head")
        elif last and hashes[head.chain, last] != head.hash:
            report.add(head.chain, last, f"the head does not have the hash of change {last}, which is the newest")
    for chain in newest:
        report.add(chain, 0, "the head of the chain is missing")


def _span(first: int, last: int) -> str:
    return f"change {first} is" if first == last else f"changes {first} to {last} are"


LINKS = """
SELECT chain, number, before, previous_hash, hash_before FROM (
    SELECT chain, number, previous_hash,
           COALESCE(LAG(number) OVER walk, 0) AS before, COALESCE(LAG(hash) OVER walk, '') AS hash_before
      FROM history_change WINDOW walk AS (PARTITION BY chain ORDER BY number)
) AS links WHERE number <> before + 1 OR previous_hash <> hash_before ORDER BY chain, number
"""


def _compare_links(report: Report) -> None:
    """Find gaps in the numbers, and changes that do not follow the previous change."""
    with connection.cursor() as cursor:
        cursor.execute(LINKS)
        rows = cursor.fetchall()
    for chain, number, before, previous, hash_before in rows:
        if number > before + 1:
            report.add(id_of(chain), before + 1, f"{_span(before + 1, number - 1)} missing")
        elif previous != hash_before:
            report.add(id_of(chain), number, f"change {number} does not follow change {before}")


_INSTALLATION = str(INSTALLATION)


def _read_part_apart(part: parallel.Part) -> Report:
    """Read a part in a process of its own."""
    with one_moment(part.snapshot):
        return _read_part(part)


def _read_part(part: parallel.Part) -> Report:
    """Compute the hashes of a part's changes, and compare its records with their changes."""
    report = Report()
    waiting_rows: list[list[Row]] = []
    for _, group in groupby(stored_rows(part.first, part.end), key=attrgetter("record_id")):
        records = [list(rows) for _, rows in groupby(group, key=attrgetter("model"))]
        if len(records) > 1:
            _name_one_id(records, report)
        for rows in records:
            report.changes += len(rows)
            report.broken += _with_wrong_hash(rows, report)
            waiting_rows.append(rows)
        if len(waiting_rows) >= RECORDS_AT_ONCE:
            _compare_records(waiting_rows, report)
            waiting_rows.clear()
    _compare_records(waiting_rows, report)
    return report


def _name_one_id(records: list[list[Row]], report: Report) -> None:
    """Add a notice if records of several kinds that are not archived have this Id; two kinds may share their Ids."""
    rows_by_model = {rows[0].model: rows for rows in records if _model(rows[0].model) is not None}
    for label in list(rows_by_model):
        rows_by_model.pop(getattr(_model(label), "HISTORY_SHARES_ID", ""), None)
    if len(rows_by_model) < 2:
        return
    active = sorted((rows[0] for rows in rows_by_model.values() if _is_active(rows[0])), key=attrgetter("at"))
    if len(active) > 1:
        *earlier, last = active
        labels = " and ".join(row.model for row in earlier)
        text = f"change {last.number} added {last.model} {last.record_id} with an Id that {labels} had already"
        report.notices.append(Fault(uuid.UUID(last.chain), last.number, f"{text}: enter it anew, then archive it"))


def _is_active(row: Row) -> bool:
    """Return whether the record of a change is stored and not archived; one query."""
    model: Any = _model(row.model)
    conditions = (
        {"is_archived": False} if any(field.name == "is_archived" for field in model._meta.concrete_fields) else {}
    )
    return bool(model._base_manager.filter(pk=row.record_id, **conditions).exists())


@cache
def _model(label: str) -> type[models.Model] | None:
    """Return the model with this label; None for one that is gone."""
    try:
        return apps.get_model(label)
    except (LookupError, ValueError):
        return None


def _with_wrong_hash(rows: list[Row], report: Report) -> Iterator[Row]:
    """Yield the changes of a record whose hash does not match their content, except those that an erasure names."""
    digests_after = _erased_by(rows)
    for row in rows:
        if row.chain != (row.site_id or _INSTALLATION):
            report.add(row.chain, row.number, f"change {row.number} names another site than its chain's")
        if row.lost_values and row.hash not in digests_after:
            report.add(row.chain, row.number, f"change {row.number} lost values that no erasure names")
            yield row
        elif _digest(row) != digests_after.get(row.hash, row.hash) or (row.lost_values and not _keeps_marks(row)):
            yield row


def _erased_by(rows: list[Row]) -> dict[str, str]:
    """Return the hashes of the changes that lost values by an erasure of the record, each with its new digest.

    Their numbers would not do: an account has changes in the chains of several sites.
    """
    return {
        entry["old"]: entry["new"]
        for row in rows
        if row.operation.startswith(ERASURE)
        for entry in row.fields
        if entry["field"] == digests.ERASED_FROM
    }


def _keeps_marks(row: Row) -> bool:
    """Return whether every erased value is still missing, because no digest would cover a value in its place."""
    return all(
        digests.is_erased(value)
        for salt, value in zip(row.salts, digests.values_of(row), strict=False)
        if salt.startswith("=")
    )


def _digest(row: Row) -> str:
    """Return the change's digest, or an empty text if no digest can be computed from the row."""
    try:
        return digests.digest(row)
    except (AttributeError, KeyError, TypeError, ValueError):
        return ""


def _name_broken(report: Report) -> None:
    """Add a fault for each change with a wrong hash that says whether it was moved from another number or altered."""
    by_chain: dict[str, list[Row]] = defaultdict(list)
    for row in report.broken:
        by_chain[row.chain].append(row)
    for chain, rows in by_chain.items():
        numbers = [row.number for row in rows[:MOST_CANDIDATES]]
        for row in rows:
            other_numbers = (candidate for candidate in numbers if candidate != row.number)
            former = next(
                (candidate for candidate in other_numbers if _digest(replace(row, number=candidate)) == row.hash), None
            )
            if former is not None:
                report.add(chain, row.number, f"change {row.number} was moved: it was written as change {former}")
            else:
                report.add(chain, row.number, f"change {row.number} was altered: its hash is not that of its content")


def _compare_records(groups: list[list[Row]], report: Report) -> None:
    by_model: dict[str, dict[str, list[Row]]] = defaultdict(dict)
    for rows in groups:
        by_model[rows[-1].model][rows[-1].record_id] = rows
    for label, rows_by_id in by_model.items():
        model = _model(label)
        if model is not None and hasattr(model, "HISTORY_EXCLUDE"):
            _compare_kind(model, rows_by_id, report)


def _compare_kind(model: Any, rows_by_id: dict[str, list[Row]], report: Report) -> None:
    """Compare the records of one kind with their changes; no other id lies between theirs in the order of all ids."""
    contents_by_id = snapshots(model, min(rows_by_id), max(rows_by_id))
    wrong_stamps, wrong_members = stamp_deviations(model, rows_by_id), member_deviations(model, rows_by_id)
    has_one_site = is_proven(model) or "site" in excluded_from_history(model)
    for key, rows in rows_by_id.items():
        chain, number, name = rows[-1].chain, rows[-1].number, f"{rows[-1].model} {rows[-1].record_id}"
        if key not in contents_by_id:
            if is_proven(model):
                report.add(chain, number, f"the record of change {number} is missing: {name}")
            continue
        report.records += is_proven(model)
        site_id, content = contents_by_id[key]
        if has_one_site and (site_id or _INSTALLATION) != chain:
            report.add(chain, number, f"the record of change {number} is at another site now: {name}")
        wrong_names = _wrong_fields(model, rows, content)
        if wrong_names := [*wrong_names, *wrong_stamps.get(key, ()), *wrong_members.get(key, ())]:
            text = f"after change {number} the record was altered past its history: {name}: {', '.join(wrong_names)}"
            report.add(chain, number, text)


def _wrong_fields(model: type[models.Model], rows: list[Row], content: Snapshot) -> list[str]:
    """Return the names of the columns, lists and child rows that differ from the changes.

    Of a row that is not always written with its history, only what its changes name is compared. An account has changes
    in the chains of several sites, whose order is unknown: the last value in any of them counts.
    """
    if is_proven(model):
        return deviations(model, replay(row.fields for row in rows), content)
    by_chain: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_chain[row.chain].append(row)
    contents = [replay(row.fields for row in group) for group in by_chain.values()]
    names = []
    for name, value in content.items():
        replayed = [values for values in contents if name in values]
        if (
            replayed
            and not why_not_compared(model, name)
            and all(deviations(model, values, {name: value}) for values in replayed)
        ):
            names.append(name)
    return names


def is_proven(model: type[models.Model]) -> bool:
    """Return whether all columns of the model's rows are written with their history, so that both can be compared."""
    return bool(getattr(model, "HISTORY_PROVES_ROWS", False))


def _find_records_without_history(report: Report) -> None:
    for model in apps.get_models():
        if not is_proven(model):
            continue
        changes = Change.objects.filter(record_id=models.OuterRef("pk"), model=model._meta.label)
        rows = model._base_manager.filter(~models.Exists(changes)).order_by("pk")
        has_site = any(field.attname == "site_id" for field in model._meta.concrete_fields)
        site: Any = "site_id" if has_site else models.Value(None, models.UUIDField())
        for key, site_id in rows.values_list("pk", site).iterator():
            report.add(site_id or INSTALLATION, 0, f"no change mentions {model._meta.label} {key}")


def _find_contradictions(report: Report) -> None:
    """Name each row that contradicts other rows in a column that no change names; one query for each such column.

    A model's `contradicting` returns these rows, by the column's name.
    """
    for model in apps.get_models():
        for name, rows in getattr(model, "contradicting", dict)().items():
            for row in rows.order_by("pk").iterator():
                chain = getattr(row, "history_site_id", None) or row.site_id
                report.add(chain, 0, f"another row contradicts {model._meta.label} {row.pk}: {name}")
