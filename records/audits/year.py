"""The year view of the audit programs: twelve months for each program, with what is planned, due, done and overdue.

An audit is shown in the month of its due date. If a program's frequency asks for an audit in a month that has none, the
month is planned; once its day has passed, it is overdue too.
"""

import datetime
import uuid
import zoneinfo
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import takewhile
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.dates import MONTHS
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, gettext_noop
from django.views.decorators.http import require_safe

from records.accounts import access
from records.audits.models import AuditProgram, AuditRecord, RecordStatus
from records.audits.schedule import REGULAR, free_dates
from records.backoffice.about import page_of
from records.backoffice.current import current_site, show_times_of, zone_of
from records.backoffice.date_filters import begins, day_of, today_at
from records.backoffice.extension_points import RecordLink
from records.backoffice.fields import as_number
from records.backoffice.responses import html_of, page_response
from records.sites.models import Site

PAGE = 50
FIRST_YEAR, LAST_YEAR = 1900, 2199
PERMISSIONS = ("audits.view_auditprogram", "audits.view_auditrecord")


class State(StrEnum):
    """The state of an entry of the year view, which is shown as text and by a colour."""

    PLANNED = gettext_noop("Planned")
    DUE = gettext_noop("Due")
    DONE = gettext_noop("Done")
    OVERDUE = gettext_noop("Overdue")
    CANCELLED = gettext_noop("Cancelled")


@dataclass(frozen=True, slots=True)
class Entry:
    """One audit, or one date for which no audit is scheduled yet."""

    state: State
    day: datetime.date
    label: str
    address: str

    @property
    def state_text(self) -> str:
        """Return the state in words."""
        return _in_words(self.state, get_language())

    @property
    def style(self) -> str:
        """Return the name of its colour."""
        return self.state.value.lower()


@dataclass(frozen=True, slots=True)
class Month:
    """The entries of a program in one month."""

    name: str
    program: str
    entries: Sequence[Entry]

    @property
    def links(self) -> SafeString:
        """Return the entries as HTML. For the thousands of a large site, a template would take half a second."""
        return html_of(
            '<a class="year-entry is-{}" href="{}"><span class="year-state">{}</span> <time datetime="{}">{}</time>'
            '<span class="visually-hidden"> {}, {}, {}</span></a>',
            (
                (
                    entry.style,
                    entry.address,
                    entry.state_text,
                    entry.day,
                    entry.day.day,
                    self.name,
                    self.program,
                    entry.label,
                )
                for entry in self.entries
            ),
        )


@dataclass(frozen=True, slots=True)
class Line:
    """One program with its twelve months."""

    program: AuditProgram
    address: str
    months: Sequence[Month]


def list_links(request: HttpRequest, model: type[Any]) -> Sequence[RecordLink]:
    """Return the button above the lists of programs and of audits that leads to the page; no query."""
    site = current_site(request)
    if model not in (AuditProgram, AuditRecord) or site is None or not _may_see(request, site):
        return ()
    return (RecordLink("year", gettext("Year view"), reverse("admin:audit_year")),)


def _may_see(request: HttpRequest, site: Site) -> bool:
    return all(access.may(request.user, site, permission) for permission in PERMISSIONS)


def year_page(request: HttpRequest) -> HttpResponse:
    """Show the year that `year` names, or this one. Raises Http404 for a year that cannot be shown."""
    site = current_site(request)
    if site is None or not _may_see(request, site):
        raise PermissionDenied
    show_times_of(site)
    zone = zone_of(site)
    today = today_at(zone)
    year = as_number(request.GET.get("year", str(today.year)), 4)
    page = as_number(request.GET.get("p", "1"), 6) or 1
    if year is None or not FIRST_YEAR <= year <= LAST_YEAR:
        raise Http404(
            gettext("The years %(first_year)s to %(last_year)s can be shown.")
            % {"first_year": FIRST_YEAR, "last_year": LAST_YEAR}
        )
    lines, has_more = year_lines(site.pk, year, today, zone, page)
    counts = Counter(entry.state for line in lines for month in line.months for entry in month.entries)
    return page_response(
        request,
        "audits/year.html",
        gettext("Audits in %(year)s") % {"year": year},
        year=year,
        this_year=today.year,
        this_month=MONTHS[today.month] if year == today.year else "",
        before=year - 1 if year > FIRST_YEAR else None,
        after=year + 1 if year < LAST_YEAR else None,
        months=list(MONTHS.values()),
        lines=lines,
        counts=[(gettext(state), counts[state], state.value.lower()) for state in State],
        page=page,
        has_more=has_more,
        programs=reverse("admin:audits_auditprogram_changelist"),
    )


def year_lines(
    site_id: uuid.UUID, year: int, today: datetime.date, zone: zoneinfo.ZoneInfo, page: int = 1
) -> tuple[list[Line], bool]:
    """Return a page of the site's programs with their year, and whether there are more; two queries.

    Archived programs are shown in the years in which they had audits.
    """
    first, end = datetime.date(year, 1, 1), datetime.date(year + 1, 1, 1)
    # A day more on each side, since a date-time with a time of day belongs to a day in the site's time zone.
    span = (begins(first, zone) - datetime.timedelta(days=1), begins(end, zone) + datetime.timedelta(days=1))
    audits_of_site = (
        AuditRecord.objects.at(site_id)
        .filter(is_archived=False)
        .annotate(planned_for=Coalesce("due_date", "date"), is_regular=REGULAR)
    )
    in_year = Q(planned_for__gte=span[0], planned_for__lt=span[1])
    of_year = audits_of_site.filter(in_year)
    # An audit of a later year can stand for a due date of this one.
    after_year = REGULAR & Q(due_date__gte=span[1], audit_program__next_due_date__lt=span[1])
    condition = Q(is_archived=False) | Q(pk__in=of_year.order_by().values("audit_program"))
    programs = AuditProgram.objects.at(site_id).filter(condition).order_by("name", "pk")
    items = list(programs[(page - 1) * PAGE : page * PAGE + 1])
    audits: dict[uuid.UUID, list[object]] = defaultdict(list)
    rows = audits_of_site.filter(in_year | after_year, audit_program__in=items[:PAGE]).order_by(
        "planned_for", "site_sequence_id"
    )
    for audit in rows.only("audit_program", "record_status", "site_sequence_id", "due_date", "date", "is_extra"):
        audits[audit.audit_program_id].append(audit)
    return [_line(program, audits[program.pk], year, today, zone) for program in items[:PAGE]], len(items) > PAGE


def _line(
    program: AuditProgram, audits: Sequence[Any], year: int, today: datetime.date, zone: zoneinfo.ZoneInfo
) -> Line:
    entries = [_audit_entry(audit, today, zone) for audit in audits]
    regular = [(audit.due_date, audit.record_status) for audit in audits if audit.is_regular]
    address = reverse("admin:audits_auditprogram_read", args=(program.pk,))
    if not program.is_archived:
        dates = free_dates(program, regular, zone, _first_step(program, year))
        for day in takewhile(lambda day: day.year <= year, (day_of(due, zone) for due in dates)):
            state = State.OVERDUE if day < today else State.PLANNED
            entries.append(Entry(state, day, gettext("no audit scheduled yet"), address))
    by_month: dict[int, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: (entry.day, entry.label)):
        if entry.day.year == year:
            by_month[entry.day.month].append(entry)
    months = [Month(str(name), str(program), by_month[number]) for number, name in MONTHS.items()]
    return Line(program, address, months)


def _audit_entry(audit: Any, today: datetime.date, zone: zoneinfo.ZoneInfo) -> Entry:
    day = day_of(audit.planned_for, zone)
    if audit.record_status == RecordStatus.COMPLETED:
        state = State.DONE
    elif audit.record_status == RecordStatus.CANCELLED:
        state = State.CANCELLED
    else:
        state = State.OVERDUE if day < today else State.DUE
    label = _label(audit.is_extra, audit.record_status, get_language())
    return Entry(state, day, label % {"site_sequence_id": audit.site_sequence_id}, page_of(AuditRecord, audit.pk))


@cache
def _in_words(text: str, language: str) -> str:
    """Return a state in the active language, which is looked up once and not for each of thousands of audits."""
    return gettext(text)


@cache
def _label(is_extra: bool, status: str, language: str) -> str:
    """Return what an audit is called in the active language, with a place for its number."""
    label = (
        gettext("extra audit %(site_sequence_id)s, %(record_status)s")
        if is_extra
        else gettext("audit %(site_sequence_id)s, %(record_status)s")
    )
    return label % {"site_sequence_id": "%(site_sequence_id)s", "record_status": RecordStatus(status).label}


def _first_step(program: AuditProgram, year: int) -> int:
    """Return how many of the program's due dates surely are before the year."""
    first, months = program.next_due_date, program.frequency_months
    return max(0, ((year - first.year) * 12 - first.month) // months) if first and months else 0


urlpatterns = [path("audit-year/", require_safe(year_page), name="audit_year")]
