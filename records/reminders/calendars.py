"""The calendar of a person: audits, actions and document reviews that are due, for a calendar program to fetch.

The address is its own credential. The answer is 404 for a wrong or revoked address, and for one of a person without
access or without a role at any site. Neither the address nor its secret part is written to a log.
"""

import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from records.accounts.calendar_links import link_of, note_use
from records.accounts.languages import in_language_of
from records.accounts.models import User
from records.backoffice.date_filters import bare, day_of, today_at
from records.history.trail import now
from records.operations import limits
from records.operations.errors import ApiError
from records.reminders.contents import zone_for
from records.reminders.ics import Event, calendar_text
from records.reminders.sources import Source, sources
from records.sites.models import Site

AHEAD = datetime.timedelta(days=2 * 366)
"""How far ahead a calendar reaches."""
LIMIT = 30
"""How many times a minute one address is answered; programs fetch it a few times an hour."""
MOST_EVENTS = 2_000
ALLOW = "GET, HEAD, OPTIONS"
HEADERS = {"Cache-Control": "private, no-store", "Referrer-Policy": "no-referrer"}


@csrf_exempt
def calendar(request: HttpRequest, secret: str) -> HttpResponse:
    """Answer the calendar behind an address; 404 for every address that is not a person's present one."""
    request.larder_operation = "Calendar"  # type: ignore[attr-defined]
    if request.method == "OPTIONS":
        return HttpResponse(status=204, headers={"Allow": ALLOW})
    if request.method not in ("GET", "HEAD"):
        return _refusal(405, "This address can only be read.", {"Allow": ALLOW})
    try:
        link = link_of(secret)
        if link is None:
            limits.note_wrong_credential(request)
            return _refusal(404, "There is no such calendar.")
        limits.spend("calendar", str(link.pk), LIMIT)
    except ApiError as refusal:
        return _refusal(refusal.status, refusal.message, refusal.headers)
    note_use(link)
    with in_language_of(link.user):
        text = calendar_text("Larder", events_of(link.user), now())
    headers = {**HEADERS, "Content-Disposition": 'inline; filename="larder.ics"'}
    return HttpResponse(text, content_type="text/calendar; charset=utf-8", headers=headers)


def _refusal(status: int, text: str, headers: dict[str, str] | None = None) -> HttpResponse:
    return HttpResponse(
        f"{text}\n", status=status, content_type="text/plain; charset=utf-8", headers={**HEADERS, **(headers or {})}
    )


def events_of(user: User) -> list[Event]:
    """Return what the person has to do and may see, in the order of the days; a query for each kind and two more."""
    zone = zone_for(user)
    before = bare(today_at(zone)) + AHEAD
    exports = [source for source in sources() if isinstance(source, Source) and source.in_calendars]
    items = [item for source in exports for item in source.items(before, user, ()) if item.may_be_seen_by(user)]
    names = dict(Site.objects.filter(pk__in={item.site_id for item in items}).values_list("pk", "name"))
    base = settings.BASE_URL
    host = urlsplit(base).hostname or "localhost"
    events = [
        Event(f"{item.uid}@{host}", day_of(item.due, zone), item.text, names[item.site_id], base + item.page)
        for item in items
    ]
    return sorted(events, key=lambda event: (event.day, event.uid))[:MOST_EVENTS]
