"""The wire format of single values, in both directions: ids, date-times, numbers, booleans (DECISIONS 1.7 to 1.10)."""

import datetime
import re
from decimal import Decimal
from typing import Any

import orjson

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_DATE_TIME = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,7}))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_NO_ZONE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?", re.ASCII)
INTEGER_LIMIT = 2_147_483_647


def read_date_time(text: str) -> datetime.datetime:
    """Return the time in UTC, truncated to the millisecond; raises ValueError with a message."""
    if match := _DATE.fullmatch(text):
        year, month, day = map(int, match.groups())
        return _moment(year, month, day)
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        if _NO_ZONE.fullmatch(text):
            raise ValueError("A time needs its zone: Z or an offset such as +02:00.")
        raise ValueError("Not a date-time such as 2024-05-31T08:30:00.000Z.")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    milliseconds = int((match[7] or "0").ljust(3, "0")[:3])
    moment = _moment(year, month, day, hour, minute, second, milliseconds)
    if match[8] not in "Zz":
        hours, minutes = int(match[8][1:3]), int(match[8][4:6])
        if hours > 23 or minutes > 59:
            raise ValueError("This offset does not exist.")
        offset = datetime.timedelta(hours=hours, minutes=minutes)
        try:
            moment = moment - offset if match[8][0] == "+" else moment + offset
        except OverflowError as error:
            raise ValueError("In UTC this date is outside the years 0001 to 9999.") from error
    return moment


def is_day(text: str) -> bool:
    """Return whether a valid date-time is a bare date, without a time."""
    return _DATE.fullmatch(text) is not None


def _moment(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0, milliseconds: int = 0
) -> datetime.datetime:
    try:
        return datetime.datetime(year, month, day, hour, minute, second, milliseconds * 1000, datetime.UTC)
    except ValueError as error:
        raise ValueError("There is no such date or time.") from error


def show_date_time(moment: datetime.datetime | None) -> str | None:
    """Return `yyyy-MM-ddTHH:mm:ss.fffZ`, or None."""
    if moment is None:
        return None
    if moment.tzinfo is not datetime.UTC:
        moment = moment.astimezone(datetime.UTC)
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def show_number(number: Decimal | None) -> Any:
    """Return the decimal as a JSON number without loss and without trailing zeros, or None."""
    if number is None:
        return None
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return orjson.Fragment("0" if text in ("-0", "") else text)


def read_boolean(text: str) -> bool | None:
    """Return the boolean of a query value: true, false, 1 or 0 in any case; None for anything else."""
    return {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower())


def read_integer(text: str, lowest: int, highest: int) -> int | None:
    """Return the whole number of a query value if it is within the bounds, otherwise None."""
    if not re.fullmatch(r"[+-]?\d{1,20}", text, re.ASCII):
        return None
    number = int(text)
    return number if lowest <= number <= highest else None
