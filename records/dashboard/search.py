"""The search across all kinds of record, by name, code or number, at the sites where somebody may see them.

A few queries a kind, however much is stored: what bears the number or begins with the text is read from the indexes,
one query a column; where that is not enough, one more looks for the words anywhere, the newest first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import AdminSite
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path

from documents.models import Document
from materials.models import Material
from records.accounts import access
from records.actions.models import Action
from records.audits.models import AuditProgram, AuditRecord
from records.backoffice.current import current_site, sites_of, user_of
from records.backoffice.lists import search
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.dashboard.addresses import list_of, page_of
from records.employees.models import Employee, JobDescription
from records.items.models import Item
from records.sites.text import fold

SHOWN = 6
SHORTEST = 2
LONGEST = 200
MOST_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record: the folded columns that an index searches from the left, and those searched anywhere."""

    model: type[models.Model]
    keys: Sequence[str] = ()
    anywhere: Sequence[str] = ()
    about: Sequence[str] = ()
    points_at: Sequence[str] = ()


KINDS = (
    Kind(
        Complaint,
        ("trace_number_key",),
        ("trace_number_key",),
        ("record_status", "product", "customer"),
        ("product", "customer"),
    ),
    Kind(Action, (), ("name", "description"), ("record_status", "owner"), ("owner",)),
    Kind(Customer, ("name_key", "code_key"), ("name_key", "code_key"), ("code", "physical_address_city")),
    Kind(Item, ("name_key", "code_key", "serial_number_key"), ("name_key", "code_key", "serial_number_key"), ("code",)),
    Kind(Document, (), ("name", "file_name"), ("record_status", "file_name")),
    Kind(Material, (), ("name", "external_id", "our_code", "supplier_code"), ("our_code", "external_id")),
    Kind(AuditProgram, (), ("name",), ("type", "department")),
    Kind(AuditRecord, (), ("audit_program__name",), ("record_status",), ("audit_program",)),
    Kind(Employee, (), ("last_name", "first_name", "code"), ("code", "position")),
    Kind(JobDescription, (), ("name", "code"), ("code", "department")),
)


@dataclass(frozen=True, slots=True)
class Hit:
    """One record that was found: what it is called, where its page is, and what tells it from others."""

    name: str
    url: str
    about: str
    is_archived: bool


@dataclass(frozen=True, slots=True)
class Group:
    """What was found of one kind, and where all of it at the current site is listed."""

    key: str
    title: str
    hits: Sequence[Hit]
    list_url: str


def number_in(text: str) -> int | None:
    """Return the number that the text is, with or without a leading #."""
    digits = text.removeprefix("#").strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS else None


def find(admin_site: AdminSite, request: HttpRequest, text: str) -> list[Group]:
    """Return what the user may see and the text means, by kind; a fixed number of queries."""
    found = []
    user, here = user_of(request), current_site(request)
    names = {site.pk: site.name for site in sites_of(request)}
    for kind in KINDS:
        label = f"{kind.model._meta.app_label}.{{}}_{kind.model._meta.model_name}"
        sites = {site for action in ("view", "change") for site in access.sites_where(user, label.format(action))}
        if not sites or not admin_site.is_registered(kind.model):
            continue
        rows = matches(kind, sites, text)
        hits = [
            Hit(_name(row), page_of(admin_site, kind.model, row.pk), _about(kind, row, names, here), row.is_archived)
            for row in rows[:SHOWN]
        ]
        if hits:
            more = len(rows) > SHOWN and here is not None and here.pk in sites
            list_url = list_of(admin_site, kind.model, q=text) if more else ""
            title = str(kind.model._meta.verbose_name_plural).capitalize()
            found.append(Group(str(kind.model._meta.model_name), title, hits, list_url))
    return found


def matches(kind: Kind, sites: set[Any], text: str) -> list[Any]:
    """Return up to one row more than are shown: the number first, then what begins with the text, then the others."""
    rows = kind.model._default_manager.filter(site__in=sites).select_related(*kind.points_at)
    beginnings = {key: models.Q(**{f"{key}__startswith": fold(text)}) for key in kind.keys}
    if (number := number_in(text)) is not None:
        beginnings = {"site_sequence_id": models.Q(site_sequence_id=number), **beginnings}
    found: dict[Any, Any] = {}
    for key, condition in beginnings.items():
        # One condition a query: of several joined by OR, a database may read the whole site instead of its indexes.
        found.update((row.pk, row) for row in rows.filter(condition).order_by(key, "id")[: SHOWN + 1])
    if len(found) <= SHOWN:
        # Ids first: carrying whole rows, with what they point at, through the sort would cost more than looking.
        newest = search(kind.model._default_manager.filter(site__in=sites), kind.anywhere, text)
        inside = newest.order_by("-site_sequence_id", "id").values("pk")[: SHOWN + 1 + len(found)]
        others = rows.filter(pk__in=inside).order_by("-site_sequence_id", "id")
        found.update((row.pk, row) for row in others if row.pk not in found)
    return list(found.values())[: SHOWN + 1]


def _name(row: Any) -> str:
    number = row.site_sequence_id
    name = str(row)
    return name if number is None or str(number) in name.split() else f"{name} (No. {number})"


def _about(kind: Kind, row: Any, names: dict[Any, str], here: Any) -> str:
    parts = [str(value) for name in kind.about if (value := getattr(row, name))]
    if here is None or row.site_id != here.pk:
        parts.append(f"at {names.get(row.site_id, '')}")
    return " · ".join(parts)


def pages(admin_site: Any) -> list[Any]:
    """Return the search page's address."""
    return [path("search/", admin_site.admin_view(lambda request: search_page(admin_site, request)), name="search")]


def search_page(admin_site: Any, request: HttpRequest) -> HttpResponse:
    """Show what was found, by kind."""
    text = " ".join(request.GET.get("q", "").replace("\x00", " ").split())[:LONGEST]
    is_asked = len(text) >= SHORTEST or number_in(text) is not None
    context = {
        **admin_site.each_context(request),
        "title": f"Search: {text}" if text else "Search",
        "asked": text,
        "global_query": text,
        "is_asked": is_asked,
        "groups": find(admin_site, request, text) if is_asked else [],
    }
    return TemplateResponse(request, "dashboard/search.html", context)
