"""Calculates when audits are due: steps of whole months that keep the day, and the due dates of a program."""

import datetime
import zoneinfo
from collections.abc import Iterator

from records.audits.models import OPEN, AuditProgram, AuditRecord, RecordStatus
from records.sites.months import months_after


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


def due_dates(first: datetime.datetime, months: int, zone: datetime.tzinfo) -> Iterator[datetime.datetime]:
    """Yield `first`, then a date every `months` months, all counted from `first`, so that the 31st stays the 31st."""
    step = 0
    while (due := months_later(first, step * months, zone)) is not None:
        yield due
        step += 1


def free_due_dates(program: AuditProgram, count: int) -> list[datetime.datetime]:
    """Return the next due dates of the program that do not have an audit yet, at most `count`; one query.

    Needs `next_due_date`, which is the only due date if there is no frequency. Cancelled, archived and extra audits do
    not count.
    """
    first = program.next_due_date
    if first is None:
        return []
    counted = program.records.filter(is_archived=False, is_extra=False).exclude(record_status=RecordStatus.CANCELLED)
    taken = set(counted.filter(due_date__gte=first).values_list("due_date", flat=True))
    if program.frequency_months is None:
        return [] if first in taken else [first]
    found: list[datetime.datetime] = []
    for due in due_dates(first, program.frequency_months, zone_of(program)):
        if len(found) == count:
            break
        if due not in taken:
            found.append(due)
    return found


def next_due_date(program: AuditProgram, finished: AuditRecord | None = None) -> datetime.datetime | None:
    """Return the program's next due date: the earliest due date of its open audits except `finished`; one query.

    Extra audits, and those that are due before the program, do not count: if `finished` is one, the program's due date
    stays. If no audit is open, the due date of `finished` is moved forward by the frequency until it is after the
    completion date; without a frequency the result is None. If `finished` is None and no audit is open, the program's
    own due date is returned.
    """
    due = program.next_due_date
    if finished is not None and (finished.is_extra or is_before(due, finished.due_date)):
        return due
    waiting = program.records.filter(is_archived=False, is_extra=False, record_status__in=OPEN, due_date__isnull=False)
    if due is not None:
        waiting = waiting.filter(due_date__gte=due)
    if finished is not None:
        waiting = waiting.exclude(pk=finished.pk)
    earliest = waiting.order_by("due_date").values_list("due_date", flat=True).first()
    if earliest is not None:
        return earliest
    if finished is None:
        return due
    anchor, done = finished.due_date or finished.completed_date, finished.completed_date
    if program.frequency_months is None or anchor is None or done is None:
        return None
    months = (done.year - anchor.year) * 12 + done.month - anchor.month
    step = max(1, months // program.frequency_months)
    zone = zone_of(program)
    later = months_later(anchor, step * program.frequency_months, zone)
    while later is not None and later <= done:
        step += 1
        later = months_later(anchor, step * program.frequency_months, zone)
    return later


def is_before(due: datetime.datetime | None, audit: datetime.datetime | None) -> bool:
    """Return whether an audit is due before its program; False if one of them has no due date."""
    return due is not None and audit is not None and audit < due


def zone_of(program: AuditProgram) -> datetime.tzinfo:
    """Return the time zone of the program's site."""
    return zoneinfo.ZoneInfo(program.site.time_zone)
