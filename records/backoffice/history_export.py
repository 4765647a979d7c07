"""The history as a file: a line for each field that a change touched, as the pages show it."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from django.apps import apps
from django.http import FileResponse
from django.utils import timezone
from django.utils.text import capfirst, format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts.models import User
from records.backoffice.about import name_pointers
from records.backoffice.datetimes import format_datetime
from records.backoffice.transfer.sheets import Line, report_file
from records.backoffice.wording import operation_label
from records.history.models import Change, ChangeQuerySet
from records.history.trail import now

MOST_CHANGES = 50_000
"""How many changes one file contains; more have to be filtered, or belong in an auditor's pack."""
STEP = 1_000
"""The number of changes that are read, and whose records are named, together."""
TOO_MANY = format_lazy(
    _("A file can have {most} changes. Filter the list, or make an auditor's pack."), most=MOST_CHANGES
)
LinesOf = Callable[[Change], Iterable[dict[str, str]]]


def history_file(rows: ChangeQuerySet, kind: str, title: str, user: User, lines_of: LinesOf) -> FileResponse:
    """Return the changes as a CSV or XLSX file, in the page's time zone; `lines_of` gives what the user may see."""
    lines = _lines(rows, user, lines_of)
    return report_file(lines, kind, gettext("History"), f"{title} {now().date().isoformat()}")


def is_too_long(rows: ChangeQuerySet) -> bool:
    """Return whether there are more changes than one file holds; one query."""
    return bool(rows.order_by("number")[MOST_CHANGES : MOST_CHANGES + 1].exists())


def _lines(rows: ChangeQuerySet, user: User, lines_of: LinesOf) -> Iterator[Line]:
    zone = timezone.get_current_timezone_name()
    head = (
        gettext("Number"),
        gettext("When (%(zone)s)") % {"zone": zone},
        gettext("Who"),
        gettext("Channel"),
        gettext("Operation"),
        gettext("Reason"),
        gettext("Kind"),
        gettext("Record"),
    )
    yield [*head, gettext("Field"), gettext("Before"), gettext("After")]
    changes = rows.iterator(chunk_size=STEP)
    while step := list(islice(changes, STEP)):
        name_pointers(user, step)
        for change in step:
            yield from _lines_of_change(change, lines_of)


def _lines_of_change(change: Change, lines_of: LinesOf) -> Iterator[Line]:
    texts = (
        format_datetime(change.at),
        change.author_name or gettext("The system"),
        f"{change.channel} ({change.credential})" if change.credential else change.channel,
        operation_label(change.operation, change.model),
        change.reason,
        kind_of(change),
        change.record_name,
    )
    change_cells: Line = [change.number, *texts]
    fields = list(lines_of(change)) or [{"label": "", "old": "", "new": ""}]
    for line in fields:
        yield [*change_cells, line["label"], line["old"], line["new"]]


def kind_of(change: Change) -> str:
    """Return the kind of record that a change is about, in words."""
    try:
        return capfirst(str(apps.get_model(change.model)._meta.verbose_name))
    except LookupError:
        return change.model
