"""What the signed-in person has to do: the sections of the start page, to which each room adds its own."""

import datetime
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext

from records.accounts import access
from records.backoffice.about import form_for_new
from records.backoffice.current import current_site, sites_of, user_of, zone_of
from records.backoffice.date_filters import CALENDAR, before, day_of, today_at
from records.history.statements import count_together, read_together

MOST_LINES = 5
"""How many lines a section shows."""
MOST_COUNTED = 1000
AHEAD = datetime.timedelta(days=30)
"""How long before its due date a record is shown."""
LONG = datetime.timedelta(days=30)
"""A record that has waited for its review for longer than this is marked as late."""


@dataclass(frozen=True, slots=True)
class Line:
    """One record of a section: its name and address, what has to be done, since or until when, and at which site."""

    name: str
    url: str
    task: str
    when: str = ""
    site: str = ""
    is_late: bool = False


@dataclass
class Section:
    """One kind of task: how many records there are, the first few of them, and what to say if there are none."""

    key: str
    title: str
    empty: str
    list_url: str = ""
    next_url: str = ""
    next_label: str = ""
    total: int = 0
    rows: Sequence[Line] = ()
    other_sites: Sequence[str] = field(default_factory=list)
    """The names of the person's other sites where there are such records too."""
    records: Any = None
    """All of the records, in their order."""
    first: Any = None
    """The records with a line, and one more if there is one."""
    line: Any = None
    """Returns a record's line."""

    def show(self, records: QuerySet[Any], line: Callable[[Any], Line]) -> "Section":
        """Show the first records, each as its line, and count them if there are more; see `fill`."""
        self.records, self.first, self.line = records, records[: MOST_LINES + 1], line
        return self

    @property
    def count(self) -> str:
        """Return the number as it is printed; counting stops at a thousand."""
        return (
            gettext("more than %(most_counted)s") % {"most_counted": f"{MOST_COUNTED:,}"}
            if self.total > MOST_COUNTED
            else str(self.total)
        )

    @property
    def has_more(self) -> bool:
        """Return whether there are more records than lines."""
        return self.total > len(self.rows)


def fill(sections: Sequence[Section]) -> None:
    """Read what the sections show together: their first records, then the numbers of records that they do not show.

    Records are counted in their order, so that the index of the order is used. A prepared statement does not tell how
    few records have the status that is asked for, and without an order PostgreSQL would read all of the table.
    """
    read_together(*(section.first for section in sections))
    longer = [section for section in sections if len(section.first) > MOST_LINES]
    numbers = count_together(*(section.records[: MOST_COUNTED + 1] for section in longer))
    for section in sections:
        section.total = len(section.first)
        section.rows = [section.line(record) for record in section.first[:MOST_LINES]]
    for section, number in zip(longer, numbers, strict=True):
        section.total = number


class Viewer:
    """The person whose start page it is, and their current site."""

    def __init__(self, request: HttpRequest) -> None:
        self.user = user_of(request)
        self.site = current_site(request)
        self.sites = {site.pk: site for site in sites_of(request)}
        self.zone = zone_of(self.site)
        self.today = today_at(self.zone)

    @property
    def site_id(self) -> uuid.UUID | None:
        """Return the Id of the current site; None if no site is chosen."""
        return self.site.pk if self.site else None

    @property
    def site_ids(self) -> list[uuid.UUID]:
        """Return the Id of the current site in a list; empty if no site is chosen."""
        return [self.site.pk] if self.site else []

    def may(self, permission: str) -> bool:
        """Return whether the person may do this at the current site."""
        return self.site is not None and access.may(self.user, self.site, permission)

    def form_for(self, model: type[Model], permission: str = "") -> str:
        """Return the address of the form that adds a record; empty if the person may not do that."""
        return form_for_new(model) if not permission or self.may(permission) else ""

    def due_line(
        self, name: str, url: str, task: str, day: datetime.datetime | None, site_id: uuid.UUID | None = None
    ) -> Line:
        """Return the line of something with a due date; `site_id` is its site if sites are shown."""
        return Line(name, url, task, self.due(day), self.other_site(site_id), self.is_late(day))

    def other_site(self, site_id: uuid.UUID | None) -> str:
        """Return the name of the site; an empty text for the current one and for None."""
        return "" if site_id == self.site_id or site_id not in self.sites else self.sites[site_id].name

    def is_due(self, field_name: str) -> Q:
        """Return the condition that the field's day has passed or comes within `AHEAD`."""
        return before(field_name, self.today + AHEAD + datetime.timedelta(days=1), CALENDAR)

    def is_late(self, moment: datetime.datetime | None) -> bool:
        """Return whether the moment's day has passed."""
        return moment is not None and day_of(moment, CALENDAR) < self.today

    def is_old(self, moment: datetime.datetime | None) -> bool:
        """Return whether the moment is longer ago than LONG."""
        return moment is not None and self.today - day_of(moment, self.zone) > LONG

    def since_day(self, moment: datetime.datetime) -> str:
        """Return since which day something waits, in words."""
        return gettext("since %(created)s") % {"created": day_of(moment, self.zone)}

    def since(self, moment: datetime.datetime | None) -> str:
        """Return the day of a record and how long ago that is: `of 2026-02-14, 9 months ago`."""
        if moment is None:
            return ""
        day = day_of(moment, self.zone)
        days = (self.today - day).days
        months = days // 30
        ago = gettext("yesterday") if days == 1 else gettext("today")
        ago = gettext("%(days)s days ago") % {"days": days} if days > 1 else ago
        ago = gettext("%(months)s months ago") % {"months": months} if months > 1 else ago
        return gettext("of %(day)s, %(ago)s") % {"day": day, "ago": ago}

    def due(self, moment: datetime.datetime | None) -> str:
        """Return when something is due, in words."""
        if moment is None:
            return ""
        day = day_of(moment, CALENDAR)
        return (
            gettext("overdue since %(day)s") % {"day": day}
            if day < self.today
            else gettext("due today")
            if day == self.today
            else gettext("due %(day)s") % {"day": day}
        )


@dataclass(frozen=True, slots=True)
class ToDo:
    """A section that a room adds to the start page, in `extension_points.to_do`."""

    place: int
    """The position of the section among those of all rooms; the lowest comes first."""
    section: Callable[[Viewer], Section | None]
    """Returns the section; None if the person cannot have such a task."""
    permission: str = ""
    """What the person must be allowed to do at the current site; empty if the section decides."""


def sections_for(request: HttpRequest, entries: Sequence[ToDo]) -> list[Section]:
    """Return the sections of everything that this person can have to do; a fixed number of queries.

    A section without a text for the case that there is nothing to do is then left out.
    """
    viewer = Viewer(request)
    permitted = [entry for entry in entries if not entry.permission or viewer.may(entry.permission)]
    possible = [entry.section(viewer) for entry in sorted(permitted, key=lambda entry: entry.place)]
    sections = [section for section in possible if section is not None]
    fill(sections)
    return [section for section in sections if section.total or section.empty]
