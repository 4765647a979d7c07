"""A calendar as text (iCalendar, RFC 5545): whole-day events, with folded lines and escaped text."""

import datetime
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LONGEST_LINE = 75
"""How many octets a line has at most, without its line break; longer ones are folded."""
_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Event:
    """Something to do on a day; `uid` stays the same as long as it is the same thing."""

    uid: str
    day: datetime.date
    title: str
    place: str
    address: str


def calendar_text(name: str, events: Iterable[Event], stamp: datetime.datetime) -> str:
    """Return the calendar; `stamp` is when it was made. Every line ends with CRLF."""
    return "".join(f"{part}\r\n" for line in _lines(name, events, stamp) for part in _fold(line))


def _lines(name: str, events: Iterable[Event], stamp: datetime.datetime) -> Iterator[str]:
    yield from ("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Larder//Larder//EN", "CALSCALE:GREGORIAN")
    yield from ("METHOD:PUBLISH", f"NAME:{escape(name)}", f"X-WR-CALNAME:{escape(name)}")
    yield from ("REFRESH-INTERVAL;VALUE=DURATION:PT1H", "X-PUBLISHED-TTL:PT1H")
    stamp_text = f"{stamp.astimezone(datetime.UTC):%Y%m%dT%H%M%SZ}"
    for event in events:
        yield "BEGIN:VEVENT"
        yield f"UID:{escape(event.uid)}"
        yield f"DTSTAMP:{stamp_text}"
        yield f"DTSTART;VALUE=DATE:{_day(event.day)}"
        # The end is the day after: it is not part of the event.
        if event.day < datetime.date.max:
            yield f"DTEND;VALUE=DATE:{_day(event.day + datetime.timedelta(days=1))}"
        yield f"SUMMARY:{escape(event.title)}"
        yield f"LOCATION:{escape(event.place)}"
        yield f"DESCRIPTION:{escape(event.address)}"
        yield f"URL:{event.address}"
        yield "TRANSP:TRANSPARENT"
        yield "END:VEVENT"
    yield "END:VCALENDAR"


def _day(day: datetime.date) -> str:
    return f"{day.year:04}{day.month:02}{day.day:02}"


def escape(text: str) -> str:
    """Return a text as the value of a property: one line, with backslashes before what has a meaning there."""
    escaped_text = text.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")
    return _CONTROLS.sub(" ", escaped_text.replace("\r\n", "\n").replace("\r", "\n")).replace("\n", "\\n")


def _fold(line: str) -> Iterator[str]:
    """Yield the line in parts of at most 75 octets, none of which cuts a character; each further one is indented."""
    part, length = "", 0
    for character in line:
        size = len(character.encode())
        if length + size > LONGEST_LINE:
            yield part
            part, length = " ", 1
        part, length = part + character, length + size
    yield part
