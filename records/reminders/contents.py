"""The content of a person's reminder: what is overdue, due today or within 7 days, and what their staff left undone."""

import datetime
import uuid
import zoneinfo
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from records.accounts.models import User
from records.backoffice.date_filters import bare, day_of
from records.employees.models import Employee
from records.reminders.models import Frequency, Preference
from records.reminders.sources import Item, sources
from records.sites.models import Site

AHEAD = 7
"""The number of days before the due date at which reminding begins."""
ESCALATED_AFTER = 7
"""The number of days after the due date at which the owner's superior is reminded too."""
MOST_LINES = 50
"""The number of lines in one part of a mail; the rest is only counted."""
MONDAY = 0


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a reminder: the task, its owner (empty for one's own), the site, the due date, and its page."""

    text: str
    owner: str
    site: str
    day: datetime.date
    page: str


@dataclass(frozen=True, slots=True)
class Part:
    """One heading of a reminder with its first lines, and the number of further lines."""

    title: str
    lines: Sequence[Line]
    further_count: int


def zone_for(user: User) -> zoneinfo.ZoneInfo:
    """Return the time zone of the person's home site; UTC without one."""
    return zoneinfo.ZoneInfo(user.home_site.time_zone if user.home_site else "UTC")


def everybody(today: datetime.date) -> set[uuid.UUID]:
    """Return the people to remind: everybody who has something due, and the superiors of people who are very late."""
    owners, late_owners = set[uuid.UUID](), set[uuid.UUID]()
    for source in sources():
        # One more day on each side, because days begin earlier or later at other sites.
        owners |= source.owners(bare(today + datetime.timedelta(days=AHEAD + 2)))
        late_owners |= source.owners(bare(today - datetime.timedelta(days=ESCALATED_AFTER - 2)))
    superiors = Employee.objects.filter(user__in=late_owners, reporting_to__user__isnull=False)
    return owners | set(superiors.values_list("reporting_to__user_id", flat=True))


def people(keys: Iterable[uuid.UUID]) -> list[User]:
    """Return the accounts among these that get mails: active people with an address."""
    rows = User.objects.filter(pk__in=keys, is_active=True, is_service_account=False, removed__isnull=True)
    return list(rows.exclude(email="").select_related("home_site").order_by("pk"))


def frequencies(users: Iterable[User]) -> dict[uuid.UUID, Frequency]:
    """Return how often each person wants to be reminded, if they have chosen."""
    rows = Preference.objects.filter(user__in=[user.pk for user in users])
    return {user: Frequency(frequency) for user, frequency in rows.values_list("user_id", "frequency")}


def is_day_for(frequency: Frequency, day: datetime.date) -> bool:
    """Return whether a person with this choice gets a reminder on the day.

    Weekly ones are sent on Mondays, and so is what somebody without reminders still gets.
    """
    return frequency == Frequency.DAILY or day.weekday() == MONDAY


def parts_for(user: User, today: datetime.date, frequency: Frequency = Frequency.DAILY) -> list[Part]:
    """Return the content of the person's reminder of a day; an empty list if there is nothing to do.

    Records that the person can no longer see are left out. Without reminders, a person still reads what is overdue.
    """
    staff = Employee.objects.filter(~Q(user=user.pk), reporting_to__user=user.pk)
    names = {employee.user_id: str(employee) for employee in staff.select_related("user") if employee.user_id}
    items = [
        item
        for source in sources()
        for item in source.items(bare(today + datetime.timedelta(days=AHEAD + 2)), user, names.keys())
        if item.may_be_seen_by(user)
    ]
    sites = Site.objects.only("name", "time_zone").in_bulk({item.site_id for item in items})
    sorted_in: dict[object, list[Line]] = {title: [] for title in TITLES}
    for item in items:
        site = sites[item.site_id]
        day = day_of(item.due, zoneinfo.ZoneInfo(site.time_zone))
        title = _title(item, user, (day - today).days)
        if title:
            owner = "" if item.owner_id == user.pk else names[item.owner_id]
            sorted_in[title].append(Line(item.text, owner, site.name, day, item.page))
    parts = []
    for title, lines in sorted_in.items():
        if lines and (frequency != Frequency.OFF or title in LATE):
            lines.sort(key=lambda line: (line.day, line.owner, line.text))
            parts.append(Part(str(title), lines[:MOST_LINES], max(len(lines) - MOST_LINES, 0)))
    return parts


OVERDUE, TODAY = _("Overdue"), _("Due today")
SOON = format_lazy(_("Due within {days} days"), days=AHEAD)
STAFF = format_lazy(_("Overdue for more than {days} days, by those who report to you"), days=ESCALATED_AFTER)
TITLES = (OVERDUE, TODAY, SOON, STAFF)
LATE = (OVERDUE, STAFF)


def _title(item: Item, user: User, days: int) -> Any:
    """Return the part for an item that is due in this number of days; an empty text if it is not shown."""
    if item.owner_id != user.pk:
        return STAFF if days < -ESCALATED_AFTER else ""
    if days < 0:
        return OVERDUE
    return TODAY if days == 0 else SOON if days <= AHEAD else ""
