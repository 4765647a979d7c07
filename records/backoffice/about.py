"""The URLs of pages of records, links to them, and which records exist for a user."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

from django.contrib import admin
from django.db.models import Model, Q, QuerySet
from django.urls import get_script_prefix, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext

from records.accounts.access import asking
from records.accounts.models import User
from records.history.digests import SIDES
from records.history.models import Change
from records.sites.about import POINTERS, findings_called, names_of
from records.sites.hidden import exists_for, hides, is_hidden
from records.sites.models import SiteRecord, permission_on
from records.sites.text import read_uuid


def url_of_page(name: str) -> str:
    """Return the URL of a page without arguments, such as `admin:index`; every page has dozens of them in its menu."""
    return url_below(get_script_prefix(), name)


@cache
def url_below(_prefix: str, name: str) -> str:
    """Return the URL of a page below the prefix of the installation."""
    return reverse(name)


def existing_for(user: User, rows: QuerySet[Any], sites: Collection[uuid.UUID]) -> QuerySet[Any]:
    """Return those of the rows, which are records of these sites, that exist for the user."""
    if not getattr(rows.model, "SEEN_WHOLE_WITH", ""):
        return rows
    open_sites = [site for site in sites if not hides(rows.model, asking(user, site))]
    if len(open_sites) == len(sites):
        return rows
    return rows.filter(Q(site__in=open_sites) | ~is_hidden(rows.model, user.pk, "pk"))


def may_see(user: User, record: SiteRecord) -> bool:
    """Return whether the record exists for the user; one query for a kind with hidden records."""
    may = asking(user, record.site_id)
    return may(permission_on(type(record))) and exists_for(record, user.pk, may)


def name_pointers(user: User, changes: Sequence[Change]) -> None:
    """Put names in place of the ids by which loaded changes tell which record and finding a row is about.

    Only the objects in memory change. A query for each kind of record at each site of the changes, and none if no
    change has such an id. The history does not say the kind of the record, so an id of two records gets both names.
    """
    entries = [(change.site_id, entry) for change in changes for entry in change.fields if entry["field"] in POINTERS]
    names: dict[uuid.UUID, list[str]] = defaultdict(list)
    for site_id in {site_id for site_id, _ in entries if site_id is not None}:
        may = asking(user, site_id)

        def visible_rows(
            rows: QuerySet[Any], may: Callable[[str], bool] = may, site_id: uuid.UUID = site_id
        ) -> QuerySet[Any]:
            return existing_for(user, rows, [site_id]) if may(permission_on(rows.model)) else rows.none()

        records, findings = (
            {
                key
                for site, entry in entries
                for side in SIDES
                if site == site_id and entry["field"] == pointer and (key := read_uuid(entry.get(side))) is not None
            }
            for pointer in POINTERS
        )
        removed_name = gettext("a finding that was removed")
        for (_, key), name in names_of(site_id, records, visible_rows).items():
            names[key].append(name)
        for key, name in findings_called(site_id, findings, visible_rows, removed_name=removed_name).items():
            names[key].append(name)
    for _, entry in entries:
        for side in SIDES:
            if (key := read_uuid(entry.get(side))) is not None:
                entry[side] = {"id": str(key), "name": " / ".join(names[key]) or gettext("not shown to you")}


def reads_first(model: type[Model]) -> bool:
    """Return whether records of this kind open with their reading page."""
    return getattr(admin.site._registry.get(model), "opens_reading", False)


def address_of(record: Model) -> str:
    """Return the URL of the record's page; empty if its kind has no page."""
    return page_of(type(record), record.pk)


def page_of(model: type[Model], key: object) -> str:
    """Return the URL of the page that a record of the kind opens with; empty if the kind has no page."""
    pages: Any = admin.site._registry.get(model)
    return pages.page_of(key) if pages is not None else ""


def list_of(model: type[Model], **query: str) -> str:
    """Return the URL of the list of the kind under the filters; empty if the kind has no list."""
    pages: Any = admin.site._registry.get(model)
    address = pages.url_of("changelist") if pages is not None else ""
    return f"{address}?{urlencode(query)}" if address and query else address


def form_for_new(model: type[Model]) -> str:
    """Return the URL of the form for a new record of the kind; empty if the kind has none."""
    pages: Any = admin.site._registry.get(model)
    return pages.url_of("add") if pages is not None else ""


def link_to(record: SiteRecord) -> SafeString:
    """Return a link to the record's page, with its kind and name."""
    kind, number = capfirst(str(record._meta.verbose_name)), record.site_sequence_id
    label = f"{kind} {number}" if number else kind
    name = str(record) if str(record).startswith(kind) else f"{label}: {record}"
    return format_html('<a href="{}">{}</a>', address_of(record), name)
