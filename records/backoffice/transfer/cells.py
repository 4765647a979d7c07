"""The cells of an imported file, as the texts that their columns read."""

import datetime
import re
from contextlib import suppress
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext

from records.backoffice.fields import to_utc
from records.backoffice.transfer.files import BadCell, Sheet
from records.backoffice.transfer.formulas import unguard
from records.history.snapshots import printed_moment

_CLOCK = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d?:\d\d(:\d\d(\.\d{1,3})?)?)", re.ASCII)
"""A local time without a zone, as an export in people's words writes it."""
_DOTS = re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})", re.ASCII)
"""A day as spreadsheets of many countries write it; with slashes, day and month could not be told apart."""


def as_text(cell: Any, kind: str, sheet: Sheet) -> str:
    """Return a cell as the text that its column reads; raises ValueError with a message.

    A number in a column of dates is a spreadsheet's serial date.
    """
    if cell is None:
        return ""
    if isinstance(cell, BadCell):
        raise ValueError(cell.message)
    if isinstance(cell, str):
        text = unguard(cell)
        return _spoken_date(text.strip()) if kind == "date" else text
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float):
        if kind == "date":
            cell = _serial(cell, sheet.epoch)
        else:
            return _number(cell, kind)
    if isinstance(cell, datetime.datetime):
        cell = _to_the_millisecond(cell)
        if cell.time() == datetime.time(0):
            return cell.date().isoformat()
        if kind == "date":
            return printed_moment(to_utc(cell))
        return cell.isoformat(" ", timespec="seconds")
    return str(cell.isoformat())


def _spoken_date(text: str) -> str:
    """Return a day or a local time of the site as the interface writes it, and any other text as it is."""
    if match := _DOTS.fullmatch(text):
        day, month, year = match.groups()
        return f"{year}-{month:0>2}-{day:0>2}"
    if match := _CLOCK.fullmatch(text):
        clock = match[2] if match[2][1:2] != ":" else f"0{match[2]}"
        try:
            return printed_moment(to_utc(datetime.datetime.fromisoformat(f"{match[1]} {clock}")))
        except ValueError:
            raise ValueError(gettext("There is no such date or time.")) from None
    return text


def _to_the_millisecond(clock: datetime.datetime) -> datetime.datetime:
    """Return the time rounded to the millisecond: serial dates are floats."""
    with suppress(OverflowError):
        clock += datetime.timedelta(microseconds=500)
    return clock.replace(microsecond=clock.microsecond // 1000 * 1000)


def _serial(number: float, epoch: datetime.datetime) -> datetime.datetime:
    from openpyxl.utils.datetime import from_excel

    try:
        moment = from_excel(number, epoch)
    except (OverflowError, ValueError):
        moment = None
    if not isinstance(moment, datetime.datetime):
        raise ValueError(gettext("Write a date as 2024-05-31."))
    return moment


def _number(number: float, kind: str) -> str:
    """Return a number as people see it in the cell: at most 15 digits, because spreadsheets store no more."""
    if kind not in ("number", "integer") and abs(number) >= 10**15:
        raise ValueError(
            gettext("A spreadsheet keeps only 15 digits of a number. Format the cell as text and enter it again.")
        )
    exact = Decimal(number) if isinstance(number, int) else Decimal(format(number, ".15g"))
    return format(exact, "f")
