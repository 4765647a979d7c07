"""Who acts in the back-office, at which site, in which time zone."""

import uuid
import zoneinfo

from django.http import HttpRequest
from django.utils import timezone

from records.accounts import access
from records.accounts.models import User
from records.history.trail import Author, Channel
from records.sites.models import Site

SESSION_KEY = "site"


def user_of(request: HttpRequest) -> User:
    """Return the account that is signed in; every back-office page has seen to it that there is one."""
    user = request.user
    if not isinstance(user, User):
        raise TypeError("Nobody is signed in.")
    return user


def author_of(request: HttpRequest, channel: Channel = Channel.BACKOFFICE) -> Author:
    """Return the author that this request's changes are written down to."""
    user = user_of(request)
    address = str(request.META.get("REMOTE_ADDR", ""))
    return Author(user.pk, user.printed_name, channel, "", getattr(request, "request_id", ""), address)


def sites_of(request: HttpRequest) -> list[Site]:
    """Return the sites at which the user holds a role, by name; one query a request."""
    kept: list[Site] | None = getattr(request, "larder_sites", None)
    if kept is None:
        user = user_of(request)
        kept = list(Site.objects.filter(pk__in=access.sites_where(user)).order_by("name", "id"))
        request.larder_sites = kept  # type: ignore[attr-defined]
    return kept


def current_site(request: HttpRequest) -> Site | None:
    """Return the site whose records the user looks at: the chosen one, else the home site, else the first by name."""
    sites = {str(site.pk): site for site in sites_of(request)}
    chosen = request.session.get(SESSION_KEY, "")
    return sites.get(chosen) or sites.get(str(user_of(request).home_site_id)) or next(iter(sites.values()), None)


def choose_site(request: HttpRequest, site_id: str) -> bool:
    """Keep the site in the session and return whether the user may act there; another one is left as it was."""
    if site_id not in {str(site.pk) for site in sites_of(request)}:
        return False
    request.session[SESSION_KEY] = site_id
    return True


def site_at(request: HttpRequest, site_id: uuid.UUID | None) -> Site | None:
    """Return one of the user's sites by its id."""
    return next((site for site in sites_of(request) if site.pk == site_id), None)


def zone_of(site: Site | None) -> zoneinfo.ZoneInfo:
    """Return the site's time zone, UTC without a site."""
    return zoneinfo.ZoneInfo(site.time_zone if site is not None else "UTC")


def show_times_of(site: Site | None) -> None:
    """Show the rest of this request's date-times in the site's time zone (SiteZoneMiddleware ends it)."""
    timezone.activate(zone_of(site))
