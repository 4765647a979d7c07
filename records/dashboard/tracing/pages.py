"""The page of a trace, its PDF and its table, and the buttons that lead there."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from materials.models import Material
from records.backoffice.about import url_of_page
from records.backoffice.current import current_site, show_times_of, user_of, zone_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.extension_points import RecordLink
from records.backoffice.responses import page_response, pdf_response
from records.backoffice.transfer.sheets import Line, report_file
from records.complaints.models import Complaint
from records.dashboard.printing.paper import Paper, Part, Value, render_pdf
from records.dashboard.tracing.lookup import (
    MOST_FOUND,
    MOST_LOTS,
    TraceResult,
    lots_in,
    near_misses,
    other_spellings,
    quote_lot,
    trace,
)
from records.dashboard.tracing.summary import Group, Summary, summary_of
from records.dashboard.tracing.summary import Line as SummaryLine
from records.history.trail import now
from records.items.models import Item
from records.sites.text import fold, is_blank

MOST_ROWS = 100
"""The number of records of a kind on the page; the PDF and the table contain all of them."""
MOST_SUGGESTED_FOR = 3
LOTS = {Complaint: "trace_number", Material: "external_id", Item: "serial_number"}
"""The column whose value the button on a record's page traces."""


def menu_links(request: HttpRequest) -> Sequence[RecordLink]:
    """Return the menu entry, for everybody who holds a role at a site."""
    if current_site(request) is None:
        return ()
    return (RecordLink("trace", gettext("Trace a lot"), url_of_page("admin:trace"), "Reports"),)


def record_links(request: HttpRequest, record: Any) -> list[RecordLink]:
    """Return the button that traces the lot, serial number or external id of a record."""
    lot = getattr(record, LOTS.get(type(record), ""), "") if type(record) in LOTS else ""
    return [RecordLink("trace", gettext("Trace"), address_of(lot))] if not is_blank(lot) else []


def address_of(*lots: str) -> str:
    """Return the address of the trace of lots."""
    return f"{url_of_page('admin:trace')}?{_query(lots)}"


def _query(lots: Sequence[str]) -> str:
    return urlencode({"lots": "\n".join(map(quote_lot, lots))})


def _lots_text(lots: Sequence[str]) -> str:
    return ", ".join(map(quote_lot, lots))


def trace_page(request: HttpRequest) -> HttpResponse:
    """Show the records that name the requested lots: first a summary, then each record."""
    text = request.GET.get("lots", "")[: MOST_LOTS * 300]
    site = current_site(request)
    show_times_of(site)
    lots = lots_in(text)
    result = trace(request, lots)
    summary = summary_of(result)
    unknown = _unknown(result)
    spellings = _other_spellings(request, result, unknown)
    return page_response(
        request,
        "dashboard/trace.html",
        gettext("Trace a lot"),
        asked="\n".join(map(quote_lot, lots)),
        lots=lots,
        result=result,
        summary=summary,
        groups=[(group, group.rows[:MOST_ROWS]) for group in summary.groups],
        shown=MOST_ROWS,
        most=MOST_FOUND,
        too_many=[capfirst(str(model._meta.verbose_name_plural)) for model in result.too_many],
        unknown=unknown,
        others=[(text, address_of(text)) for text in spellings],
        all_spellings=address_of(*lots, *spellings),
        suggestions=[
            (lot, [(near, address_of(near)) for near in near_misses(request, lot)])
            for lot in unknown[:MOST_SUGGESTED_FOR]
        ],
        query=_query(lots),
    )


def _unknown(result: TraceResult) -> list[str]:
    """Return the lots that no record names; an empty list if there are too many records to know."""
    if result.too_many:
        return []
    return [lot for lot in result.lots if not any(fold(lot) in text for text in result.texts)]


def _other_spellings(request: HttpRequest, result: TraceResult, unknown: Sequence[str]) -> list[str]:
    """Return how the first lots that were found are written elsewhere; the unknown ones get suggestions instead."""
    known_lots = [lot for lot in result.lots if lot not in unknown] if result.count else []
    spellings = other_spellings(request, known_lots[:MOST_SUGGESTED_FOR])
    return [text for text in spellings if not any(fold(lot) in fold(text) for lot in result.lots)]


def trace_file(request: HttpRequest, kind: str) -> HttpResponseBase:
    """Answer the trace as a PDF or an XLSX file; 404 for another kind of file, or without a lot."""
    lots = lots_in(request.GET.get("lots", ""))
    if kind not in ("pdf", "xlsx") or not lots:
        raise Http404
    show_times_of(current_site(request))
    result = trace(request, lots)
    summary = summary_of(result)
    name = re.sub(r"[^\w-]+", "-", lots[0])[:60].strip("-") or "lot"
    file_name = f"trace-{name}"
    spellings = _other_spellings(request, result, _unknown(result))
    if kind == "xlsx":
        return report_file(table(result, summary, spellings), kind, gettext("Trace"), file_name)
    return pdf_response(render_pdf(paper(request, result, summary, spellings)), f"{file_name}.pdf")


def paper(request: HttpRequest, result: TraceResult, summary: Summary, spellings: Sequence[str]) -> Paper:
    """Return the PDF of the trace: first the summary, then every record, and the other spellings of the lots."""
    site = current_site(request)
    at = f"{format_datetime(now())} ({zone_of(site).key})"
    sites = ", ".join(result.site_names.values())
    first, last = summary.total.span
    parts = [
        Part(
            gettext("At a glance"),
            [
                Value(gettext("Complaints"), str(summary.total.complaints)),
                Value(gettext("Quantity"), summary.total.amount),
                Value(gettext("Since"), first),
                Value(gettext("Last"), last),
                Value(gettext("Records in total"), str(result.count)),
            ],
        )
    ]
    for title, lines in (
        (gettext("Lots"), summary.lots),
        (gettext("Customers"), summary.customers),
        (gettext("Products"), summary.products),
    ):
        parts += [Part(title, [Value(line.name, _words(line)) for line in lines])] if lines else []
    parts += [
        Part(group.title, [Value(row.name, _lines(group, row.cells)) for row in group.rows]) for group in summary.groups
    ]
    if result.too_many:
        parts.append(Part(gettext("Not complete"), [Value(gettext("Too many"), _too_many(result))]))
    if spellings:
        parts.append(
            Part(gettext("Not in this trace"), [Value(gettext("The same letters and digits"), "\n".join(spellings))])
        )
    return Paper(
        title=gettext("Trace: %(names)s") % {"names": _lots_text(result.lots)},
        subtitle=gettext("Everything that names it at %(sites)s, as far as %(printed_name)s may see it")
        % {"sites": sites, "printed_name": user_of(request).printed_name},
        parts=parts,
        foot=gettext("Trace of %(value)s · printed %(at)s by %(printed_name)s")
        % {"value": _lots_text(result.lots)[:80], "at": at, "printed_name": user_of(request).printed_name},
    )


def _words(line: SummaryLine) -> str:
    first, last = line.span
    count = ngettext("%(count)s complaint", "%(count)s complaints", line.complaints) % {"count": line.complaints}
    days = gettext("%(first)s to %(last)s") % {"first": first, "last": last} if last != first else first
    return gettext("%(complaints)s, quantity %(amount)s, %(days)s") % {
        "complaints": count,
        "amount": line.amount,
        "days": days,
    }


def _lines(group: Group, cells: Sequence[str]) -> str:
    return "\n".join(f"{column}: {cell}" for column, cell in zip(group.columns, cells, strict=True))


def _too_many(result: TraceResult) -> str:
    names = ", ".join(str(model._meta.verbose_name_plural) for model in result.too_many)
    return gettext("More than %(most)s %(names)s contain this. Enter more of the lot.") % {
        "most": MOST_FOUND,
        "names": names,
    }


def table(result: TraceResult, summary: Summary, spellings: Sequence[str]) -> Iterator[Line]:
    """Yield the lines of the trace's table: every record with its kind and its value in each column.

    Lines at the end name what is not in it.
    """
    columns = list(dict.fromkeys(column for group in summary.groups for column in group.columns))
    yield [gettext("Kind"), gettext("Record"), *columns, gettext("Archived")]
    for group in summary.groups:
        for row in group.rows:
            cells = dict(zip(group.columns, row.cells, strict=True))
            yield [
                group.title,
                row.name,
                *(cells.get(column, "") for column in columns),
                gettext("Yes") if row.is_archived else gettext("No"),
            ]
    if result.too_many:
        yield [gettext("Not complete"), _too_many(result)]
    for text in spellings:
        yield [gettext("Not in this trace"), text, gettext("The same letters and digits")]


urlpatterns = [
    path("trace/", require_safe(trace_page), name="trace"),
    path("trace/<str:kind>/", require_safe(trace_file), name="trace_file"),
]
