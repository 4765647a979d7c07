"""Named filters of a list: users save them on the list, which offers them, and can rename, share and remove them.

All users have their own filters at a site. Users who hold `backoffice.share_savedfilter` there (Managers and above) can
share theirs with everybody at the site, and manage all shared ones.
"""

import uuid
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.accounts.models import User
from records.backoffice.current import author_of, site_of_form, user_of
from records.backoffice.fields import TextField
from records.backoffice.forms import PlainForm
from records.backoffice.lists import UnreadableListError, list_of_query
from records.backoffice.models import QUERY, SavedFilter
from records.backoffice.permissions import Pages, SitePermissions
from records.history.snapshots import columns, differences
from records.history.trail import Author, recording
from records.sites.models import Site
from records.sites.text import read_uuid
from records.sites.writing import add_record, apply, changing

SHARE = "backoffice.share_savedfilter"
NONE = uuid.UUID(int=0)
MOST_FILTERS = 50
"""How many filters of one list a user can have at a site."""


class NameForm(PlainForm):
    """A filter's name, and whether it is offered to everybody at the site.

    `key` is the id of the stored filter, or empty for the new one of `query`.
    """

    name = TextField(label=_("Name"), max_length=80)
    is_shared = forms.BooleanField(required=False)

    def __init__(self, data: QueryDict | None = None, *, key: str = "", query: str = "", **options: object) -> None:
        super().__init__(data, auto_id=f"{key or 'new'}-%s", **options)
        self.key, self.query = key, query


def filter_part(query: QueryDict) -> str:
    """Return the part of a list's URL that filters it, independent of the order of the parameters."""
    pairs = sorted(
        (name, value)
        for name, values in query.lists()
        for value in values
        if value and name not in (PAGE_VAR, ORDER_VAR)
    )
    part = QueryDict(mutable=True)
    for name, value in pairs:
        part.appendlist(name, value)
    return part.urlencode()


def visible_filters(listing: str, user: User, site: Site | None) -> list[SavedFilter]:
    """Return the filters of the list that are the user's own or shared at the site, by name; one query."""
    if site is None:
        return []
    rows = SavedFilter.objects.at(site).filter(models.Q(user=user) | models.Q(is_shared=True), listing=listing)
    return list(rows.select_related("user").order_by("name", "id"))


def store(saved_filter: SavedFilter, *, author: Author, **values: object) -> SavedFilter:
    """Store a new filter, or change one; raises ValidationError if the user already has one with that name."""
    if saved_filter._state.adding:
        return add_record(saved_filter, values, author=author, operation="SaveFilter", skip=("user", "site"))
    with changing(SavedFilter, None, saved_filter.pk, author=author, operation="ChangeSavedFilter") as locked_filter:
        apply(locked_filter, values)
    return locked_filter


def remove(saved_filter: SavedFilter, *, author: Author) -> None:
    """Remove a filter; the history keeps its content."""
    # The common writer never deletes a row. A saved filter is not a record, so it may go.
    with recording() as trail:
        trail.add(
            saved_filter,
            differences(saved_filter, columns(saved_filter), {}),
            author=author,
            operation="RemoveSavedFilter",
        )
        SavedFilter.objects.filter(pk=saved_filter.pk).delete()


class SavedFilterPages(SitePermissions):
    """The saved filters of an admin's list."""

    own_pages: ClassVar[Pages] = (("filters/", "filters_view", "filters"),)

    def list_context(self, request: HttpRequest) -> dict[str, object]:
        """Return also the list's saved filters."""
        extra = {"saved_filters": self.saved_filters(request)} if self.has_view_permission(request) else {}
        return {**super().list_context(request), **extra}

    def saved_filters(self, request: HttpRequest) -> dict[str, Any]:
        """Return what the list shows: saved filters, and whether the active one can be saved and shared."""
        user, site, active = user_of(request), site_of_form(request), filter_part(request.GET)
        rows = visible_filters(self.opts.label_lower, user, site)
        return {
            "rows": [{"saved": row, "active": row.query == active, "own": row.user_id == user.pk} for row in rows],
            "address": self.url_of("filters"),
            "site": site,
            "query": active if site is not None and len(active) <= QUERY else "",
            "may_share": site is not None and access.may(user, site, SHARE),
        }

    def unreadable(self, request: HttpRequest, error: UnreadableListError) -> TemplateResponse:
        """Report which filters cannot be read, and the name under which they were saved."""
        response = super().unreadable(request, error)
        active = [row["saved"] for row in self.saved_filters(request)["rows"] if row["active"]]
        if active and response.context_data is not None:
            response.context_data["saved"] = active[0]
            response.context_data["saved_address"] = self.url_of("filters")
        return response

    def filters_view(self, request: HttpRequest) -> HttpResponse:
        """List the saved filters that the user may manage, and handle the user's changes of them."""
        site = site_of_form(request)
        if site is None or not self.has_view_permission(request):
            raise PermissionDenied
        result = self._take_filter(request, site) if request.method == "POST" else None
        if isinstance(result, HttpResponse):
            return result
        content = self.saved_filters(request)
        for row in content["rows"]:
            saved_filter = row["saved"]
            initial = {"name": saved_filter.name, "is_shared": saved_filter.is_shared}
            is_refused = result is not None and result.key == str(saved_filter.pk)
            row["form"] = result if is_refused else NameForm(key=str(saved_filter.pk), initial=initial)
        return self.page_response(
            request,
            "backoffice/saved_filters.html",
            gettext("Saved filters: %(kinds)s") % {"kinds": self.opts.verbose_name_plural},
            saved_filters=content,
            refused=result,
            list_address=self.url_of("changelist"),
        )

    def _take_filter(self, request: HttpRequest, site: Site) -> HttpResponse | NameForm:
        """Save, change or remove one filter; return a redirect, or the form with what is wrong with it."""
        if "query" in request.POST:
            return self._save_filter(request, site)
        saved_filter, user = self._saved_filter_in(request, site), user_of(request)
        if "remove" in request.POST:
            remove(saved_filter, author=author_of(request))
            messages.success(request, gettext("The saved filter “%(saved)s” was removed.") % {"saved": saved_filter})
            return redirect(self.url_of("filters"))
        form = NameForm(request.POST, key=str(saved_filter.pk))
        if form.is_valid() and not access.may(user, site, SHARE):
            form.cleaned_data["is_shared"] = saved_filter.is_shared
        return self._store(request, saved_filter, form, self.url_of("filters"))

    def _save_filter(self, request: HttpRequest, site: Site) -> HttpResponse | NameForm:
        """Save the active filter; it replaces one of the user's own with the same name."""
        query = filter_part(QueryDict(request.POST["query"]))
        form = NameForm(request.POST, query=query)
        back = f"{self.url_of('changelist')}?{query}"
        user, listing = user_of(request), self.opts.label_lower
        own_filters = SavedFilter.objects.at(site).filter(user=user, listing=listing)
        if not query or len(query) > QUERY:
            messages.error(request, gettext("Filter or search the list first. Nothing was saved."))
            return redirect(self.url_of("changelist"))
        if fault := self._fault_of_filter(request, QueryDict(query)):
            messages.error(request, gettext("%(fault)s Nothing was saved.") % {"fault": fault})
            return redirect(self.url_of("changelist"))
        saved_filter = own_filters.filter(name__iexact=form.cleaned_data["name"]).first() if form.is_valid() else None
        if form.is_valid() and saved_filter is None and own_filters.count() >= MOST_FILTERS:
            text = gettext("You already have %(most)s saved filters for this list. Remove one first.")
            form.add_error("name", text % {"most": MOST_FILTERS})
        if form.is_valid():
            form.cleaned_data["query"] = query
            form.cleaned_data["is_shared"] &= access.may(user, site, SHARE)
        return self._store(request, saved_filter or SavedFilter(user=user, site=site, listing=listing), form, back)

    def _store(
        self, request: HttpRequest, saved_filter: SavedFilter, form: NameForm, back: str
    ) -> HttpResponse | NameForm:
        """Store the filter as the form says and redirect; return the form if it is refused."""
        if not form.is_valid():
            return form
        try:
            store(saved_filter, author=author_of(request), **form.cleaned_data)
        except ValidationError:
            text = gettext("There is already a saved filter “%(name)s”. Choose another name.")
            form.add_error("name", text % {"name": form.cleaned_data["name"]})
            return form
        messages.success(request, gettext("The filter “%(saved)s” was saved.") % {"saved": saved_filter})
        return redirect(back)

    def _saved_filter_in(self, request: HttpRequest, site: Site) -> SavedFilter:
        """Return the filter that the form names: one of the user's own, or a shared one if the user may share."""
        rows = SavedFilter.objects.at(site).filter(listing=self.opts.label_lower)
        saved_filter = rows.filter(pk=read_uuid(request.POST.get("saved", "")) or NONE).select_related("user").first()
        user = user_of(request)
        if saved_filter is None or not (saved_filter.user_id == user.pk or saved_filter.is_shared):
            raise Http404
        if saved_filter.user_id != user.pk and not access.may(user, site, SHARE):
            raise PermissionDenied
        return saved_filter

    def _fault_of_filter(self, request: HttpRequest, query: QueryDict) -> str:
        """Return why a list can no longer be filtered by the query; empty if it can."""
        try:
            list_of_query(self, request, query)
        except UnreadableListError as error:
            return str(error)
        return ""
