"""The summary of a trace: which lots, customers and products, since when, and how much."""

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.about import page_of
from records.backoffice.datetimes import NOTHING, format_datetime, plain_number
from records.complaints.models import Complaint
from records.dashboard.search import name_of
from records.dashboard.tracing.lookup import SOURCES, Source, TraceResult, names_lot
from records.history.erasure import is_mark
from records.sites.text import fold


@dataclass(slots=True)
class Line:
    """The complaints of one lot, customer or product: how many, about how much, the first and the last day."""

    name: str
    url: str = ""
    complaints: int = 0
    quantity: Decimal | None = None
    first: datetime.datetime | None = None
    last: datetime.datetime | None = None

    def add(self, complaint: Complaint) -> None:
        """Count a complaint."""
        self.complaints += 1
        if complaint.quantity is not None:
            self.quantity = (self.quantity or Decimal(0)) + complaint.quantity
        if complaint.date is not None:
            self.first = min(self.first or complaint.date, complaint.date)
            self.last = max(self.last or complaint.date, complaint.date)

    @property
    def amount(self) -> str:
        """Return the quantity as it is printed."""
        return NOTHING if self.quantity is None else plain_number(self.quantity)

    @property
    def span(self) -> tuple[str, str]:
        """Return the first and the last day as they are printed."""
        return _day(self.first), _day(self.last)


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a trace, with its values in the columns of its kind."""

    name: str
    url: str
    cells: Sequence[str]
    is_archived: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The records of one kind."""

    key: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Summary:
    """The content of a trace: totals, what the complaints are about, and every record by kind."""

    total: Line
    lots: Sequence[Line]
    customers: Sequence[Line]
    products: Sequence[Line]
    groups: Sequence[Group]


def summary_of(result: TraceResult) -> Summary:
    """Return the content of a trace, counted and worded; runs no query."""
    total = Line(gettext("All complaints"))
    for complaint in result.complaints:
        total.add(complaint)

    def target(name: str) -> Callable[[Complaint], tuple[Any, str, str]]:
        def group_of(complaint: Complaint) -> tuple[Any, str, str]:
            row = getattr(complaint, name)
            return (None, gettext("Not named"), "") if row is None else (row.pk, str(row), page_of(type(row), row.pk))

        return group_of

    return Summary(
        total,
        _lines(result.complaints, _lot_of),
        _lines(result.complaints, target("customer")),
        _lines(result.complaints, target("product")),
        [_group(source, result) for source in SOURCES if result.records.get(source.model)],
    )


def _lot_of(complaint: Complaint) -> tuple[str, str, str]:
    return fold(complaint.trace_number), complaint.trace_number or gettext("Without a trace number"), ""


def _lines(complaints: Iterable[Complaint], group_of: Callable[[Complaint], tuple[Any, str, str]]) -> list[Line]:
    """Return a line for each lot, customer or product in the complaints, those with most complaints first."""
    lines: dict[Any, Line] = {}
    for complaint in complaints:
        key, name, url = group_of(complaint)
        lines.setdefault(key, Line(name, url)).add(complaint)
    return sorted(lines.values(), key=lambda line: (-line.complaints, line.name.casefold()))


def _group(source: Source, result: TraceResult) -> Group:
    columns, cells = COLUMNS[source.model._meta.model_name]
    rows = []
    many_sites = len(result.site_names) > 1
    may_see = source.model is Complaint and bool(result.see_consumers)
    for row in result.records[source.model]:
        record = getattr(row, source.foreign_key) if source.foreign_key else row
        texts = [*cells(row)]
        if source.lots:
            texts.append(gettext("Lot or code") if names_lot(row, source, result.lots) else gettext("Text"))
        if may_see:
            texts.append(consumer_of(row) if record.site_id in result.see_consumers else NOTHING)
        if many_sites:
            texts.append(result.site_names.get(record.site_id, ""))
        rows.append(Row(name_of(record), page_of(source.record, record.pk), texts, record.is_archived))
    head = [
        *map(str, columns),
        *((gettext("Named in"),) if source.lots else ()),
        *((gettext("Consumer"),) if may_see else ()),
        *((gettext("Site"),) if many_sites else ()),
    ]
    return Group(source.model._meta.model_name, capfirst(str(source.model._meta.verbose_name_plural)), head, rows)


def consumer_of(complaint: Complaint) -> str:
    """Return the consumer's name and contact details; what was erased of them is named once, without its codes."""
    names = (complaint.consumer_first_name, complaint.consumer_last_name)
    contact_details = (complaint.consumer_phone, complaint.consumer_mobile, complaint.consumer_email)
    name = " ".join(text for text in names if text and not is_mark(text))
    details = (name, *(text for text in contact_details if not is_mark(text)))
    erased = [gettext("Erased")] if any(map(is_mark, (*names, *contact_details))) else []
    return ", ".join(text for text in (*details, *erased) if text) or NOTHING


def _day(moment: datetime.datetime | None) -> str:
    return format_datetime(moment, day=False)[:10] or NOTHING


def _text(value: Any) -> str:
    return NOTHING if value in (None, "") else str(value)


COLUMNS: dict[str, tuple[Sequence[Any], Callable[[Any], Sequence[str]]]] = {
    "complaint": (
        (_("Lot"), _("Date"), _("Customer"), _("Product"), _("Quantity"), _("Nonconformance"), _("Status")),
        lambda row: (
            _text(row.trace_number),
            _day(row.date),
            _text(row.customer),
            _text(row.product),
            NOTHING if row.quantity is None else plain_number(row.quantity),
            _text(row.nonconformance),
            row.get_record_status_display(),
        ),
    ),
    "material": (
        (_("External id"), _("Our code"), _("Supplier code"), _("Category")),
        lambda row: tuple(map(_text, (row.external_id, row.our_code, row.supplier_code, row.material_category))),
    ),
    "item": (
        (_("Serial number"), _("Code"), _("Location")),
        lambda row: tuple(map(_text, (row.serial_number, row.code, row.location))),
    ),
    "action": (
        (_("Status"), _("Owner"), _("Due")),
        lambda row: (row.get_record_status_display(), _text(row.owner), format_datetime(row.due_date, day=True)),
    ),
    "document": ((_("Version in force"),), lambda row: (_text(row.effective_version),)),
    "finding": ((_("Question"), _("Comment")), lambda row: (_text(row.question), _text(row.comment))),
    "attachment": ((_("File"), _("Attached")), lambda row: (row.file_name, _day(row.created))),
}
"""The columns of each kind, and the function that returns a record's values in them."""
