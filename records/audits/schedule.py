"""Calculates when audits are due: steps of whole months that keep the day, and the due dates of a program."""

import datetime
import zoneinfo
from collections.abc import Collection, Iterator
from itertools import islice

from django.db.models import Q

from records.audits.models import OPEN, AuditProgram, AuditRecord, RecordStatus
from records.sites.months import months_after

DueAudit = tuple[datetime.datetime, str]
"""The due date and the status of an audit."""

REGULAR = Q(is_archived=False, is_extra=False, due_date__isnull=False) & ~Q(record_status=RecordStatus.CANCELLED)
"""The audits that can stand for a due date of their program."""


def months_later(moment: datetime.datetime, months: int, zone: datetime.tzinfo) -> datetime.datetime | None:
    """Return the same time of day that many months later, or on the last day of the month if the month is shorter.

    A bare date (midnight UTC) remains a bare date; other date-times keep their local time at the site. Returns None
    after the year 9999.
    """
    moment = moment.astimezone(datetime.UTC)
    bare = moment.time() == datetime.time()
    try:
        local = moment if bare else moment.astimezone(zone)
        later = months_after(local, months)
        return None if later is None else later.astimezone(datetime.UTC)
    except OverflowError:
        return None


def due_dates(
    first: datetime.datetime, months: int, zone: datetime.tzinfo, step: int = 0
) -> Iterator[datetime.datetime]:
    """Yield `first`, then a date every `months` months, all counted from `first`, so that the 31st stays the 31st.

    `step` is the number of dates that are left out at the beginning.
    """
    while (due := months_later(first, step * months, zone)) is not None:
        yield due
        step += 1


def free_dates(
    program: AuditProgram, audits: Collection[DueAudit], zone: datetime.tzinfo, step: int = 0
) -> Iterator[datetime.datetime]:
    """Yield the program's due dates for which none of its `audits`, which are REGULAR, stands; no query.

    An audit stands for a due date if it is due on that date or later, but before the following one. A completed audit
    does not stand for `next_due_date`: completing an audit moves that date on, so staff have set it anew. Without a
    frequency, `next_due_date` is the only due date. `step` dates are left out at the beginning.
    """
    first = program.next_due_date
    for due, statuses in _periods(first, program.frequency_months, audits, zone, step):
        if not statuses or (due == first and statuses.isdisjoint(OPEN)):
            yield due


def _periods(
    first: datetime.datetime | None, months: int | None, audits: Collection[DueAudit], zone: datetime.tzinfo, step: int
) -> Iterator[tuple[datetime.datetime, set[str]]]:
    """Yield each due date with the statuses of the audits that are due on it or until the following one."""
    if first is None:
        return
    dates = iter((first,)) if months is None else due_dates(first, months, zone, step)
    due = next(dates, None)
    while due is not None:
        next_due = next(dates, None)
        yield due, {status for day, status in audits if due <= day and (next_due is None or day < next_due)}
        due = next_due


def free_due_dates(program: AuditProgram, count: int) -> list[datetime.datetime]:
    """Return the next due dates of the program for which no audit stands yet, at most `count`; one query."""
    return list(islice(free_dates(program, _regular_audits(program), zone_of(program)), count))


def next_due_date(program: AuditProgram, completed: AuditRecord | None = None) -> datetime.datetime | None:
    """Return the program's next due date after a change of its audits; one query.

    Without an audit that was just `completed`, that is the earliest due date of its open regular audits, or else its
    present one. With one, the date moves on only if that audit stood for it: to another open audit that stands for it
    too, or else to the first of the following due dates that has an open audit, or has no audit and is after the
    completion date. So a date without an audit is not left out because a later audit was completed. The result is None
    if there is neither an open audit nor a frequency.
    """
    due, months = program.next_due_date, program.frequency_months
    if completed is not None and (completed.is_extra or is_before(due, completed.due_date)):
        return due
    audits = _regular_audits(program, completed)
    earliest = min((day for day, status in audits if status in OPEN), default=None)
    if completed is None:
        return earliest or due
    done, first = completed.completed_date, due or completed.due_date or completed.completed_date
    if months is None or done is None or first is None or (due is None and earliest is not None):
        return earliest
    zone = zone_of(program)
    next_date = months_later(first, months, zone)
    if due is not None and next_date is not None and not is_before(next_date, completed.due_date):
        return due
    for start, statuses in _periods(first, months, audits, zone, 0):
        if not statuses.isdisjoint(OPEN):
            return earliest if start == first else start
        if start != first and not statuses and start > done:
            return start
    return None


def _regular_audits(program: AuditProgram, apart_from: AuditRecord | None = None) -> list[DueAudit]:
    """Return the program's regular audits that are due on its due date or later, except one; one query."""
    audits = program.records.filter(REGULAR)
    if program.next_due_date is not None:
        audits = audits.filter(due_date__gte=program.next_due_date)
    if apart_from is not None:
        audits = audits.exclude(pk=apart_from.pk)
    return [(day, status) for day, status in audits.values_list("due_date", "record_status") if day is not None]


def is_before(due: datetime.datetime | None, audit: datetime.datetime | None) -> bool:
    """Return whether an audit is due before its program; False if one of them has no due date."""
    return due is not None and audit is not None and audit < due


def zone_of(program: AuditProgram) -> datetime.tzinfo:
    """Return the time zone of the program's site."""
    return zoneinfo.ZoneInfo(program.site.time_zone)
