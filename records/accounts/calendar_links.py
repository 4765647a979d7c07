"""Calendar links: one address a person at which a calendar program fetches what the person has to do.

Everybody who knows the address can read it, so its secret part is stored as a digest only, is shown once, and ends with
the account's access.
"""

import datetime
from contextlib import suppress

from django.core.exceptions import ValidationError
from django.db import InternalError, OperationalError, connection
from django.utils.translation import gettext

from records.accounts import access, peppers
from records.accounts.authority import Act, actor_of, require
from records.accounts.credentials import issue, revoke
from records.accounts.keys import PATIENCE
from records.accounts.models import CalendarLink, User
from records.history.trail import Author, now, recording

NAME = "Calendar link"
USED_EVERY = datetime.timedelta(minutes=1)


def live_link(user: User) -> CalendarLink | None:
    """Return the person's link, or None."""
    return CalendarLink.objects.filter(user=user, revoked__isnull=True).first()


def issue_link(user: User, *, author: Author) -> tuple[CalendarLink, str]:
    """Make a link and return it with its secret, which is shown once; the person's former link ends.

    Raises ValidationError for a service account and for one without access, and NotAllowedError if the author may not
    make one. Locks the user's row.
    """
    with recording():
        locked_user = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if not locked_user.is_active or locked_user.is_service_account:
            raise ValidationError(gettext("Only a person who has access can have a calendar link."), code="Forbidden")
        require(actor_of(author), Act.ISSUE_CREDENTIAL, locked_user)
        revoke_links(locked_user, author=author, reason="A new link was made.")
        return issue(CalendarLink(user=locked_user, name=NAME), "lc", author=author, operation="IssueCalendarLink")


def revoke_links(user: User, *, author: Author, reason: str = "") -> int:
    """End the person's links at once; returns how many there were."""
    links = list(CalendarLink.objects.filter(user=user, revoked__isnull=True).order_by("pk"))
    for link in links:
        revoke(link, author=author, operation="RevokeCalendarLink", reason=reason)
    return len(links)


def link_of(secret: str) -> CalendarLink | None:
    """Return the live link with this secret, of a person who has access and holds a role; None for every other."""
    rows = CalendarLink.objects.filter(digest__in=peppers.digests(secret), revoked__isnull=True)
    link = rows.select_related("user__home_site").first()
    if link is None or not link.user.is_active or link.user.is_service_account or not access.sites_where(link.user):
        return None
    return link


def note_use(link: CalendarLink) -> None:
    """Record when the link was used, at most once a minute, unless the database cannot be written."""
    if link.last_used is None or now() - link.last_used >= USED_EVERY:
        with suppress(OperationalError, InternalError), connection.briefly(PATIENCE):  # type: ignore[attr-defined]
            CalendarLink.objects.filter(pk=link.pk).update(last_used=now())
