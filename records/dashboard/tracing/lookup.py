"""Finding the records that name a lot: complaints, items, materials, documents, actions, audits and attachments.

For each kind, one query finds the keys with the indexes of the search, and one loads the records, for any number of
lots.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any

from django.contrib import admin
from django.db import models
from django.db.models import F, Q
from django.http import HttpRequest

from documents.models import Document
from materials.models import Material
from records.accounts import access
from records.accounts.models import User
from records.actions.models import Action
from records.attachments.models import Attachment
from records.audits.models import Finding
from records.backoffice.current import sites_of, user_of
from records.complaints.models import Complaint
from records.items.models import Item
from records.sites.models import permission_on
from records.sites.text import fold, is_blank
from records.sites.trigrams import RUN, containing

MOST_LOTS = 20
LONGEST = 255
MOST_FOUND = 2_000
"""The maximum number of records of a kind in a trace; if more match, the user has to enter more of the lot."""
BETWEEN = ("", "-", " ", "/", ".", "_")
"""What can stand between the last two letters or digits of a lot that is written otherwise."""
SEE_CONSUMERS = "complaints.view_private_complaint"
_LOT = re.compile(r'[^\S\r\n]*"((?:[^"\r\n]|"")+)"[^\S\r\n]*(?=[,;\r\n]|\Z)|([^,;\r\n]+)')
_UNSAFE = re.compile(r'[,;]|\A\s*"')


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of record that can name a lot: the columns that are lots or codes, and those that are texts."""

    model: Any
    lots: Sequence[str]
    texts: Sequence[str]
    points_at: Sequence[str] = ()
    foreign_key: str = ""
    """The foreign key to the record, if the model is a child row."""

    @property
    def record(self) -> Any:
        """Return the model of the record that is found."""
        return self.model._meta.get_field(self.foreign_key).related_model if self.foreign_key else self.model

    @property
    def columns(self) -> tuple[str, ...]:
        """Return every column that is searched."""
        return (*self.lots, *self.texts)


SOURCES = (
    Source(
        Complaint,
        ("trace_number_key",),
        ("complaint_description",),
        ("customer", "product", "brand", "production_unit", "nonconformance"),
    ),
    Source(Material, ("external_id", "our_code", "supplier_code"), ("name",), ("material_category",)),
    Source(Item, ("serial_number_key",), ("name_key",)),
    Source(Action, (), ("name", "description"), ("owner",)),
    Source(Document, (), ("name", "description", "file_name")),
    Source(Finding, (), ("question", "comment"), ("audit_record__audit_program",), foreign_key="audit_record"),
    Source(Attachment, (), ("name", "description", "file_name")),
)
NAMED_BY = ((SOURCES[0], "trace_number"), (SOURCES[2], "serial_number"), (SOURCES[1], "external_id"))
"""The columns that are lots as people wrote them, with their sources."""
FILES_IN_FORCE = ("name", "description", "in_force__file_name")
"""The columns of documents that are searched for a user who may not see every newest version."""


@dataclass
class TraceResult:
    """The records that name the lots and that the user may see, by kind."""

    lots: Sequence[str]
    records: dict[type[models.Model], list[Any]] = field(default_factory=dict)
    too_many: list[type[models.Model]] = field(default_factory=list)
    see_consumers: frozenset[Any] = frozenset()
    """The sites at which the user may see the identity of consumers."""
    site_names: dict[Any, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    """The texts of each record in the searched columns, case-folded. Other columns can be private."""

    @property
    def complaints(self) -> list[Any]:
        """Return the complaints."""
        return self.records.get(Complaint, [])

    @property
    def count(self) -> int:
        """Return how many records there are."""
        return sum(map(len, self.records.values()))


def lots_in(text: str) -> list[str]:
    """Return the lots in a text, which commas, semicolons or line breaks separate; each once, at most 20.

    One in quotation marks can itself contain commas and semicolons, see `quote_lot`.
    """
    lots = (quoted.replace('""', '"') if quoted else bare for quoted, bare in _LOT.findall(text.replace("\x00", " ")))
    parts = (" ".join(part.split())[:LONGEST] for part in lots)
    by_key = {fold(part): part for part in reversed([part for part in parts if not is_blank(part)])}
    return list(reversed(by_key.values()))[:MOST_LOTS]


def quote_lot(lot: str) -> str:
    """Return the lot as `lots_in` reads it: in quotation marks, with those in it doubled, if it needs them."""
    return '"{}"'.format(lot.replace('"', '""')) if _UNSAFE.search(lot) else lot


def trace(request: HttpRequest, lots: Sequence[str]) -> TraceResult:
    """Return all records that name one of the lots, at all sites where the user may see them.

    A text of one or two characters matches only lots that are equal to it; a longer text also matches lots that contain
    it. Fifteen queries at most.
    """
    user = user_of(request)
    result = TraceResult(
        lots,
        see_consumers=frozenset(access.sites_where(user, SEE_CONSUMERS)),
        site_names={site.pk: site.name for site in sites_of(request)},
    )
    for source in SOURCES if lots else ():
        rows = _visible(request, source)
        if rows is None:
            continue
        if source.model is Document and not _sees_pending(user):
            source = replace(source, texts=FILES_IN_FORCE)
        keys = _keys(rows, source, lots)
        if len(keys) > MOST_FOUND:
            result.too_many.append(source.model)
        elif keys:
            annotations = {_attribute(name): F(name) for name in source.columns if _attribute(name) != name}
            records = source.model._default_manager.select_related(*source.points_at).filter(pk__in=keys)
            records = records.annotate(**annotations)
            number = f"{source.foreign_key}__site_sequence_id" if source.foreign_key else "site_sequence_id"
            result.records[source.model] = list(records.order_by(number, "pk"))
            result.texts += [_searched_text(row, source) for row in result.records[source.model]]
    _add_actions_about(result, _visible(request, SOURCES[3]))
    return result


def _sees_pending(user: User) -> bool:
    """Return whether the user may see pending versions at every site whose documents they may see."""
    sites = access.sites_where(user, "documents.view_document")
    return all(access.may(user, site, Document.SEEN_WHOLE_WITH) for site in sites)


def _visible(request: HttpRequest, source: Source) -> models.QuerySet[Any] | None:
    """Return the rows that the user may see; None if there is no site at which they may see any."""
    model = source.record
    sites = access.sites_where(request.user, permission_on(model))
    if not sites or not admin.site.is_registered(model):
        return None
    if source.foreign_key:
        return source.model._default_manager.filter(**{f"{source.foreign_key}__site__in": sites})
    return admin.site.get_model_admin(model).get_queryset(request).filter(site__in=sites)


def _keys(rows: models.QuerySet[Any], source: Source, lots: Sequence[str]) -> set[Any]:
    """Return the keys of the rows that name a lot; one query, which is a union with a part for each column and lot.

    Each part reads its own index. With conditions joined by OR, each row would be compared with all of them.
    """
    parts = [rows.order_by().filter(way).values("pk") for lot in lots for way in _conditions(source, lot)]
    if not parts:
        return set()
    union = parts[0].union(*parts[1:], all=True) if len(parts) > 1 else parts[0]
    # Several columns of a row can match, so more keys than records are read.
    return {row["pk"] for row in union[: MOST_FOUND * 4]}


def _conditions(source: Source, lot: str) -> Iterator[Q]:
    if len(lot) < RUN:
        yield from (Q(**{f"{name}__whole_in": [lot]}) for name in source.lots)
        return
    yield from (containing(name, lot) for name in source.columns)


def _add_actions_about(result: TraceResult, visible: models.QuerySet[Any] | None) -> None:
    """Add the actions about the complaints, materials and items in the trace; one query."""
    about = [
        Q(entity=model.ENTITY, record_id__in=[row.pk for row in records])
        for model in (Complaint, Material, Item)
        if (records := result.records.get(model))
    ]
    if visible is None or not about:
        return
    rows = visible.filter(reduce(or_, about)).select_related("owner").order_by("site_sequence_id", "pk")
    existing_ids = {row.pk for row in result.records.get(Action, ())}
    further_rows = [row for row in rows[:MOST_FOUND] if row.pk not in existing_ids]
    if further_rows:
        result.records[Action] = [*result.records.get(Action, ()), *further_rows]
        result.texts += [_searched_text(row, SOURCES[3]) for row in further_rows]


def _attribute(column: str) -> str:
    """Return the attribute of a loaded row that has the column's value, also that of a column of another row."""
    return column.replace("__", "_")


def _searched_text(row: models.Model, source: Source) -> str:
    return fold("\n".join(str(getattr(row, _attribute(column)) or "") for column in source.columns))


def names_lot(row: models.Model, source: Source, lots: Sequence[str]) -> bool:
    """Return whether a lot or code of the row contains one of the lots, and not only one of its texts."""
    texts = [fold(str(getattr(row, name, ""))) for name in source.lots]
    return any(fold(lot) in text for lot in lots for text in texts)


def near_misses(request: HttpRequest, lot: str) -> list[str]:
    """Return up to five lots, serial numbers and external ids that are similar to the lot; three queries.

    They are searched among those that begin with the same two characters, end with the same four, or contain the
    longest run of letters and digits of the lot.
    """
    from records.dashboard.tracing.similarity import nearest

    candidates: set[str] = set()
    for source, column in NAMED_BY:
        rows = _visible(request, source)
        if rows is not None:
            candidates.update(_candidates(rows, column, fold(lot)))
    return nearest(lot, candidates)


def other_spellings(request: HttpRequest, lots: Sequence[str]) -> list[str]:
    """Return up to twenty lots, serial numbers and external ids that are these lots with other separators or zeros.

    They do not contain the lots as they are written, so that the trace does not find them; three queries. Those that
    contain a run of letters and digits of a lot, or begin and end as it does, are compared.
    """
    from records.dashboard.tracing.similarity import letters_and_digits

    folded_lots = {fold(lot) for lot in lots if len(letters_and_digits(lot)) >= RUN}
    shapes, spellings = {letters_and_digits(lot) for lot in folded_lots}, set[str]()
    for source, column in NAMED_BY if folded_lots else ():
        rows = _visible(request, source)
        if rows is None:
            continue
        key, ignoring_case = _key_of(rows.model, column)
        for lot in folded_lots:
            rows = rows.exclude(**{f"{key}__{ignoring_case}contains": lot})
        parts = []
        for lot in folded_lots:
            shape = letters_and_digits(lot)
            runs = {shape, shape[-max(RUN, len(shape) // 2) :], *re.findall(r"[^\W_]{3,}", lot)}
            begins = Q(**{f"{key}__{ignoring_case}startswith": lot[:RUN]})
            ends = (Q(**{f"{key}__{ignoring_case}endswith": between.join(shape[-2:])}) for between in BETWEEN)
            conditions = [begins & reduce(or_, ends), *(containing(key, run) for run in runs)]
            parts += [rows.order_by().filter(way).values_list(column, flat=True) for way in conditions]
        spellings.update(text for text in parts[0].union(*parts[1:])[:MOST_FOUND] if letters_and_digits(text) in shapes)
    return sorted(spellings)[:MOST_LOTS]


def _key_of(model: type[models.Model], column: str) -> tuple[str, str]:
    """Return where the column is searched, and the prefix of a lookup there that ignores case."""
    is_folded = any(field.name == f"{column}_key" for field in model._meta.concrete_fields)
    return (f"{column}_key", "") if is_folded else (column, "i")


def _candidates(rows: models.QuerySet[Any], column: str, lot: str) -> list[str]:
    key, ignoring_case = _key_of(rows.model, column)
    conditions = [Q(**{f"{key}__{ignoring_case}startswith": lot[:2]})]
    for part in {max(re.findall(r"[^\W_]+", lot), key=len, default=""), lot[-4:]}:
        if len(part) >= RUN:
            conditions.append(containing(key, part))
    values = rows.order_by().exclude(**{column: ""}).filter(reduce(or_, conditions)).values_list(column, flat=True)
    return list(values.distinct()[:MOST_FOUND])
