"""The header of a sheet: which column each heading means, in people's words or in the interface's."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext

from records.backoffice.transfer.files import FileError
from records.backoffice.transfer.table import Column, Table

_PATH = re.compile(r"(\w+)(?:\[(\d+)\])?(?:\.(\w+))?(?:\[\d+\])?(?:\.\w+)?")


@dataclass(slots=True)
class Headings:
    """The columns of a sheet in its order, None for an ignored one, and how the file calls them.

    `places` are the positions of the headings that were asked for beside the table's columns.
    """

    columns: list[Column | None]
    titles: dict[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    in_interface_words: bool = False

    @property
    def used(self) -> list[Column]:
        """Return the columns that are read."""
        return [column for column in self.columns if column is not None]

    def title(self, column: Column) -> str:
        """Return what the file calls the column; one that it leaves out is called as the others are."""
        return self.titles.get(column.name) or (column.name if self.in_interface_words else column.label)


def headings(
    table: Table, headers: Sequence[str], takes: Callable[[Column], bool], further_headings: Collection[str] = ()
) -> Headings:
    """Return what the headers mean; raises FileError, with all faults together.

    `takes` says whether a column is read; `further_headings`, in lower case, are others that the sheet can have.
    """
    result = Headings([])
    faults: list[str] = []
    ignored = {name.casefold() for name in table.ignored}
    first_headers: dict[str, str] = {}
    for place, header in enumerate(headers, 1):
        heading = " ".join(header.casefold().split())
        column = table.column_of(header) if heading not in further_headings else None
        name = column.name if column is not None else heading
        if name in first_headers and header:
            faults.append(_duplicate_fault(header, first_headers[name]))
        first_headers.setdefault(name, header)
        if not header:
            faults.append(
                gettext("Column %(place)s of the header has no name. Enter one, or delete the column.")
                % {"place": place}
            )
        elif heading in further_headings:
            result.places.setdefault(heading, place - 1)
        elif column is None and heading not in ignored:
            faults.append(table.refusal_of(header))
        is_read = column is not None and takes(column)
        result.columns.append(column if is_read else None)
        if column is not None:
            result.titles.setdefault(column.name, header)
            by_label = heading.rstrip(" *:") in (column.label.casefold(), column.english_label.casefold())
            result.in_interface_words = result.in_interface_words or not by_label
        if not is_read and heading not in further_headings:
            result.ignored.append(header)
    if faults:
        raise FileError(" ".join(faults[:20]))
    return result


def _duplicate_fault(header: str, first: str) -> str:
    if header.casefold() == first.casefold():
        return gettext("The column %(header)s occurs twice in the header.") % {"header": f"{header[:100]!r}"}
    return gettext("The columns %(first)s and %(header)s mean the same field; keep one of them.") % {
        "first": f"{first[:100]!r}",
        "header": f"{header[:100]!r}",
    }


def in_words(path: str, table: Table, heads: Headings) -> str:
    """Return where a fault or a change is in the words of the file: `Contacts, row 2: Last name`.

    `path` is in the interface's words: `PartyContacts[1].LastName`.
    """
    match = _PATH.fullmatch(path)
    column = table.columns.get(match[1]) if match else None
    if match is None or column is None:
        return path
    if heads.in_interface_words:
        return path
    title = heads.title(column)
    child = table.children.get(column.name)
    inner = child.columns.get(match[3]) if child is not None and match[3] else None
    if match[2] is not None:
        title = gettext("%(title)s, row %(number)s") % {"title": title, "number": int(match[2]) + 1}
    return f"{title}: {inner.label}" if inner is not None else title
