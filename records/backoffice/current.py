"""The request's user, site and time zone in the back-office, and what was decided once for the request."""

import uuid
import zoneinfo
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, QueryDict
from django.utils import timezone

from records.accounts import access
from records.accounts.models import User
from records.history.trail import Author, Channel
from records.sites.models import Site, is_time_zone
from records.sites.text import read_uuid

SESSION_KEY = "site"
FORM_SITE, FORM_ZONE = "larder_site", "larder_zone"
"""The hidden fields in which a form carries the site for which it was opened, and the time zone of the times in it."""


@dataclass(slots=True)
class FormState:
    """What a request for the form of a record decides once; every part of the page reads it."""

    record: Any
    """The stored record; None on the page for a new one."""
    site_id: uuid.UUID | None
    """The site that the record belongs to; None for records that all sites share."""
    writable: bool
    readonly: Sequence[Any] = ()
    fieldsets: Any = ()
    rows: list[tuple[Any, Any]] | None = None
    """The formset class and the inline of each relation of child rows."""
    data: QueryDict | None = None
    """The sent data, updated with what is stored now."""


@dataclass(slots=True)
class PageState:
    """What every page of the back-office stores on its request."""

    sites: list[Site]
    current: Site | None
    """The site that the user works at; see `current_site`."""
    form: FormState | None = None
    columns: dict[str, list[str]] = field(default_factory=dict)
    """The columns that the user chose, by the list's model."""


def state_of(request: HttpRequest) -> PageState:
    """Return the state of the request; one query at the first call."""
    state: PageState | None = getattr(request, "larder_page", None)
    if state is None:
        user = user_of(request)
        sites = list(Site.objects.filter(pk__in=access.sites_where(user)).order_by("name", "id"))
        state = request.larder_page = PageState(sites, _current_of(request, user, sites))  # type: ignore[attr-defined]
    return state


def form_state(request: HttpRequest) -> FormState | None:
    """Return the decisions for the form that is being shown or saved; None on every other page."""
    state: PageState | None = getattr(request, "larder_page", None)
    return None if state is None else state.form


def user_of(request: HttpRequest) -> User:
    """Return the account that is signed in; every back-office page requires one."""
    user = request.user
    if not isinstance(user, User):
        raise TypeError("Nobody is signed in.")
    return user


def author_of(request: HttpRequest, channel: Channel = Channel.BACKOFFICE) -> Author:
    """Return the author to whom this request's changes are attributed."""
    user = user_of(request)
    return Author(user.pk, user.printed_name, channel, "", getattr(request, "request_id", ""))


def sites_of(request: HttpRequest) -> list[Site]:
    """Return the sites at which the user holds a role, by name; one query per request."""
    return state_of(request).sites


def current_site(request: HttpRequest) -> Site | None:
    """Return the user's current site: the chosen one, otherwise the home site, otherwise the first by name."""
    return state_of(request).current


def _current_of(request: HttpRequest, user: User, sites: Sequence[Site]) -> Site | None:
    by_id = {str(site.pk): site for site in sites}
    chosen_id, home_id = request.session.get(SESSION_KEY, ""), str(user.home_site_id)
    return by_id.get(chosen_id) or by_id.get(home_id) or next(iter(sites), None)


def choose_site(request: HttpRequest, site_id: str) -> None:
    """Make the site the current one and store it in the session, if the user holds a role there."""
    state = state_of(request)
    for site in state.sites:
        if str(site.pk) == site_id:
            request.session[SESSION_KEY], state.current = site_id, site


def site_at(request: HttpRequest, site_id: uuid.UUID | None) -> Site | None:
    """Return one of the user's sites by its id."""
    for site in state_of(request).sites:
        if site.pk == site_id:
            return site
    return None


def site_of_form(request: HttpRequest) -> Site | None:
    """Return the site for which the sent form was opened, even if the user chose another one in the meantime.

    It is the current site for everything else, and None for a form of a site at which the user holds no role any more.
    """
    site_id = read_uuid(request.POST.get(FORM_SITE, "")) if request.method == "POST" else None
    return site_at(request, site_id) if site_id else current_site(request)


def zone_of(site: Site | None) -> zoneinfo.ZoneInfo:
    """Return the site's time zone; UTC without a site."""
    return zoneinfo.ZoneInfo(site.time_zone if site is not None else "UTC")


def show_times_of(site: Site | None) -> None:
    """Show the other date-times of this request in the site's time zone (SiteZoneMiddleware resets it)."""
    timezone.activate(zone_of(site))


def show_times_of_form(request: HttpRequest, site: Site | None) -> str:
    """Show times in the zone in which the sent form showed them, or for a new form in the site's; return its name.

    Typed and unchanged times then keep their meaning, even if the site's zone was changed in the meantime.
    """
    name = request.POST.get(FORM_ZONE, "")
    try:
        is_time_zone(name)
    except ValidationError:
        name = zone_of(site).key
    timezone.activate(zoneinfo.ZoneInfo(name))
    return name


def may_here(request: HttpRequest, *any_of: str) -> bool:
    """Return whether the user has one of the permissions at the current site; no query after the first call."""
    site = current_site(request)
    return site is not None and access.may(request.user, site, *any_of)


def site_where(request: HttpRequest, *any_of: str) -> Site:
    """Return the site of the sent form, or the current one, and show its times.

    Raises PermissionDenied without one of the permissions there.
    """
    site = site_of_form(request)
    if site is None or not access.may(request.user, site, *any_of):
        raise PermissionDenied
    show_times_of(site)
    return site
