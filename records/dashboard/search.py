"""The search in all kinds of record, at all sites where the user may see them.

Each kind needs a few queries, however many records are stored, and those of all kinds are read together. Records with
the number, and those that begin with the text, are read from the indexes with one query for each column. If these are
too few, further queries search for the words anywhere in the texts, newest records first.
"""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.text import capfirst
from django.utils.translation import gettext

from documents.models import Document
from materials.models import Material
from records.accounts import access
from records.actions.models import Action
from records.attachments.models import Attachment
from records.audits.models import AuditProgram, AuditRecord, Finding
from records.backoffice.about import list_of, page_of
from records.backoffice.current import current_site, sites_of, user_of
from records.backoffice.fields import as_number
from records.backoffice.lists import searching
from records.backoffice.responses import page_response
from records.backoffice.wording import choice_label
from records.complaints.models import Complaint
from records.customers.models import Customer, PartyContact
from records.dashboard.tracing.lookup import quote_lot
from records.employees.models import Employee, JobDescription
from records.history.statements import Reads, run_reads
from records.items.models import Item
from records.reference.models import Nonconformance, Product, ReferenceEntry
from records.sites.models import Site, SiteRecord, permission_on
from records.sites.text import fold

MOST_HITS = 6
MOST_OF_KIND = 50
"""The number of records that are shown if only one kind is searched."""
AROUND = 60
"""The number of characters of a text that are shown before and after the match."""
SHORTEST = 2
LONGEST = 200
MOST_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record: the folded columns of which an index searches the beginning, and those searched anywhere."""

    model: type[models.Model]
    keys: Sequence[str] = ()
    anywhere: Sequence[str] = ()
    about: Sequence[str] = ()
    points_at: Sequence[str] = ()
    private: Sequence[str] = ()
    """The searched columns that only holders of the permission may see."""
    private_permission: str = ""
    instead: Sequence[str] = ()
    """The columns that are searched instead of the private ones; the loaded row has their values under these names."""
    foreign_key: str = ""
    """The foreign key from a child row to its record, if child rows are searched; the record is the result."""

    @property
    def record(self) -> type[models.Model]:
        """Return the kind of record that is found."""
        record: Any = self.model._meta.get_field(self.foreign_key).related_model if self.foreign_key else self.model
        return record

    @property
    def order(self) -> str:
        """Return the column by which results that only contain the text are ordered: the newest numbers first."""
        if issubclass(self.record, ReferenceEntry):
            return "name"
        return f"-{self.foreign_key}__site_sequence_id" if self.foreign_key else "-site_sequence_id"

    @property
    def key(self) -> str:
        """Return the kind's name in an address."""
        return str(self.model._meta.model_name)

    @property
    def title(self) -> str:
        """Return what the kind is called."""
        return capfirst(str(self.model._meta.verbose_name_plural))


KINDS = (
    Kind(
        Complaint,
        ("trace_number_key",),
        Complaint.SEARCHED,
        ("record_status", "product", "customer"),
        ("product", "customer"),
        ("consumer_last_name",),
        "complaints.view_private_complaint",
    ),
    Kind(Action, (), Action.SEARCHED, ("record_status", "owner"), ("owner",)),
    Kind(
        Customer,
        ("name_key", "code_key"),
        Customer.SEARCHED,
        ("code", "physical_address_city"),
    ),
    Kind(PartyContact, (), PartyContact.SEARCHED, foreign_key="customer", points_at=("customer",)),
    Kind(
        Item,
        ("name_key", "code_key", "serial_number_key"),
        Item.SEARCHED,
        ("code", "location"),
    ),
    Kind(
        Document,
        (),
        ("name", "description", "file_name"),
        ("record_status", "file_name"),
        private=("file_name",),
        private_permission=Document.SEEN_WHOLE_WITH,
        instead=("in_force__file_name",),
    ),
    Kind(Product, ("name_key", "code_key"), Product.SEARCHED, ("code",)),
    Kind(Nonconformance, ("name_key", "code_key"), Nonconformance.SEARCHED, ("code",)),
    Kind(Material, (), Material.SEARCHED, ("our_code", "external_id")),
    Kind(AuditProgram, (), AuditProgram.SEARCHED, ("type", "department")),
    Kind(AuditRecord, (), ("audit_program__name", "notes"), ("record_status",), ("audit_program",)),
    Kind(Finding, (), Finding.SEARCHED, foreign_key="audit_record", points_at=("audit_record__audit_program",)),
    Kind(Employee, (), Employee.SEARCHED, ("code", "position")),
    Kind(JobDescription, (), JobDescription.SEARCHED, ("code", "department")),
    Kind(Attachment, (), ("name", "description", "file_name"), ("file_name",)),
)


@dataclass(frozen=True, slots=True)
class Hit:
    """One result: the record's name, the address of its page, and what distinguishes it from others."""

    name: str
    url: str
    about: str
    is_archived: bool
    snippet: tuple[str, str, str] | None = None
    """The place of the match: the text before it, the match, and the text after it."""


@dataclass(frozen=True, slots=True)
class Group:
    """The results of one kind, and the address of the list with all of them at the current site."""

    key: str
    title: str
    hits: Sequence[Hit]
    list_url: str


def number_in(text: str) -> int | None:
    """Return the number that the text is, with or without a leading #."""
    return as_number(text.removeprefix("#").strip(), MOST_DIGITS)


def find(request: HttpRequest, text: str, only: str = "") -> list[Group]:
    """Return the matching records that the user may see, of all kinds or of one; a fixed number of queries."""
    most = MOST_OF_KIND if only else MOST_HITS
    kinds = [kind for kind in KINDS if only in ("", kind.key) and admin.site.is_registered(kind.record)]
    return [group for group in run_reads([_group(request, kind, text, most) for kind in kinds]) if group.hits]


def _group(request: HttpRequest, kind: Kind, text: str, most: int) -> Reads[Group]:
    """Return the results of one kind."""
    user, current = user_of(request), current_site(request)
    names = {site.pk: site.name for site in sites_of(request)}
    sites = set(access.sites_where(user, permission_on(kind.record), permission_on(kind.record, "change")))
    visible = None if kind.foreign_key else admin.site._registry[kind.model].get_queryset(request)
    private = {site for site in sites if not kind.private or access.may(user, site, kind.private_permission)}
    rows: list[object] = []
    if private:
        rows += yield from matches(kind, private, text, most, visible)
    if sites - private:
        columns = [*(name for name in kind.anywhere if name not in kind.private), *kind.instead]
        rows += yield from matches(replace(kind, anywhere=columns), sites - private, text, most, visible)
    hits = [_hit(kind, row, text, private, names, current) for row in rows[:most]]
    has_list = len(rows) > most and current is not None and current.pk in sites and not kind.foreign_key
    return Group(kind.key, kind.title, hits, list_of(kind.model, q=text) if has_list else "")


def _hit(
    kind: Kind, row: Any, text: str, private: set[Any], names: dict[uuid.UUID, str], page_site: Site | None
) -> Hit:
    record = getattr(row, kind.foreign_key) if kind.foreign_key else row
    hidden_fields = () if kind.instead or record.site_id in private else kind.private
    columns = [name for name in kind.anywhere if name not in hidden_fields]
    name = name_of(record)
    return Hit(
        name,
        page_of(kind.record, record.pk),
        _about(kind, row, record, names, page_site),
        record.is_archived,
        snippet(row, columns, text, name),
    )


def snippet(row: models.Model, columns: Sequence[str], text: str, name: str) -> tuple[str, str, str] | None:
    """Return the place in one of the row's columns where a word of the text occurs, unless the name shows it."""
    words = [word.casefold() for word in text.split()]
    if any(word in name.casefold() for word in words):
        return None
    for column in columns:
        value = " ".join(str(getattr(row, column.removesuffix("_key"), "") or "").split())
        at = next((at for word in words if (at := value.casefold().find(word)) >= 0), -1)
        if at >= 0:
            word = next(word for word in words if value.casefold().startswith(word, at))
            start, end = max(at - AROUND, 0), at + len(word)
            before = f"{'…' if start else ''}{value[start:at]}"
            after = f"{value[end : end + AROUND]}{'…' if len(value) > end + AROUND else ''}"
            return before, value[at:end], after
    return None


def matches(
    kind: Kind, sites: set[Any], text: str, most: int = MOST_HITS, visible: models.QuerySet[Any] | None = None
) -> Reads[list[Any]]:
    """Return the rows that are shown, and one more if there is one.

    The row with the number comes first, then those that begin with the text, then all others. `visible` are the rows
    that the user may see; None means all rows of the sites.
    """
    step = f"{kind.foreign_key}__" if kind.foreign_key else ""
    visible_rows = kind.model._default_manager.all() if visible is None else visible
    at_sites = visible_rows.filter(**{f"{step}site__in": sites})
    rows = at_sites.select_related(*kind.points_at) if kind.points_at else at_sites
    beginnings = {key: models.Q(**{f"{key}__startswith": fold(text)}) for key in kind.keys}
    if (number := number_in(text)) is not None and issubclass(kind.model, SiteRecord):
        beginnings = {"site_sequence_id": models.Q(site_sequence_id=number), **beginnings}
    # One condition per query: if several are joined by OR, a database may read the whole site and not its indexes.
    first = [rows.filter(condition).order_by(key, "id")[: most + 1] for key, condition in beginnings.items()]
    yield first
    by_key: dict[Any, Any] = {row.pk: row for part in first for row in part}
    if len(by_key) <= most:
        # Ids first: sorting whole rows, with the records that they refer to, would cost more than the search itself.
        newest = yield from searching(at_sites, kind.anywhere, text)
        inside = newest.order_by(kind.order, "id").values("pk")[: most + 1 + len(by_key)]
        containing_rows = rows.filter(pk__in=inside).order_by(kind.order, "id")
        yield [containing_rows]
        by_key.update((row.pk, row) for row in containing_rows if row.pk not in by_key)
    return list(by_key.values())[: most + 1]


def name_of(row: Any) -> str:
    """Return a record's name, with its number if the name does not contain it."""
    number = getattr(row, "site_sequence_id", None)
    name = str(row)
    return (
        name
        if number is None or re.search(rf"\b{number}\b", name)
        else gettext("%(name)s (No. %(number)s)") % {"name": name, "number": number}
    )


def _about(kind: Kind, row: Any, record: Any, names: dict[uuid.UUID, str], page_site: Site | None) -> str:
    parts = [str(choice_label(type(row), name, value)) for name in kind.about if (value := getattr(row, name))]
    if page_site is None or record.site_id != page_site.pk:
        parts.append(gettext("at %(names)s") % {"names": names.get(record.site_id, "")})
    return " · ".join(parts)


def search_page(request: HttpRequest) -> HttpResponse:
    """Show the results, grouped by kind."""
    text = " ".join(request.GET.get("q", "").replace("\x00", " ").split())[:LONGEST]
    only = next((kind.key for kind in KINDS if kind.key == request.GET.get("kind")), "")
    is_asked = len(text) >= SHORTEST or number_in(text) is not None
    return page_response(
        request,
        "dashboard/search.html",
        gettext("Search: “%(query)s”") % {"query": text} if text else gettext("Search"),
        asked=text,
        lots=quote_lot(text),
        global_query=text,
        is_asked=is_asked,
        groups=find(request, text, only) if is_asked else [],
        kinds=[(kind.key, kind.title) for kind in KINDS],
        only=only,
    )


urlpatterns = [path("search/", search_page, name="search")]
