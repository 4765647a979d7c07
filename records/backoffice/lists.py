"""The list of a kind of record at the current site, read through indexes; an empty list says what to do next."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.core.exceptions import FieldError, SuspiciousOperation, ValidationError
from django.core.paginator import Paginator
from django.db import DataError, models
from django.http import HttpRequest, QueryDict
from django.utils.functional import cached_property
from django.utils.text import capfirst
from django.utils.translation import gettext

from records.accounts.access import asking
from records.backoffice.about import address_of
from records.backoffice.choice_filters import ArchivedFilter
from records.backoffice.current import current_site, user_of
from records.backoffice.fields import as_number
from records.history import replica
from records.history.statements import Reads, run_reads
from records.sites.hidden import hides, references, visible_to, without_hidden
from records.sites.models import SiteRecord
from records.sites.sequences import totals
from records.sites.text import read_uuid
from records.sites.trigrams import finding

UNREADABLE = (
    IncorrectLookupParameters,
    SuspiciousOperation,
    FieldError,
    ValidationError,
    ValueError,
    OverflowError,
    DataError,
)
"""What Django and the database raise for the parameters of a list."""


class UncountedPaginator(Paginator):  # type: ignore[type-arg]
    """Finds out whether there is a next page by reading one more row; the count is the stored one, if there is any."""

    stored_count: int | None = None
    heads: replica.Heads | None = None
    """How far a replica must have replayed the history to find the keys of the page."""
    rows_read = 0
    has_more = False

    @property
    def count(self) -> int:
        """Return the stored total; if there is none, the number of rows known so far."""
        return self.stored_count if self.stored_count is not None else self.rows_read

    def read(self, number: int) -> list[Any]:
        """Return one page: its keys from an index first, then their rows; two queries."""
        start = (number - 1) * self.per_page
        rows: Any = self.object_list
        sorted_keys = rows.order_by(*(rows.query.order_by or rows.model._meta.ordering)).values_list("pk", flat=True)
        page_keys = sorted_keys[start : start + self.per_page + 1]
        keys = replica.read(self.heads, lambda: list(page_keys.all()))
        self.has_more = len(keys) > self.per_page
        self.rows_read = start + len(keys)
        keys = keys[: self.per_page]
        by_key = {row.pk: row for row in rows.order_by().filter(pk__in=keys)}
        return [by_key[key] for key in keys if key in by_key]

    def read_or_last(self, number: int) -> tuple[int, list[Any]]:
        """Return one page with its number, or the last page for a number beyond it; only then the rows are counted."""
        page = self.read(number)
        if number > 1 and not page:
            rows: Any = self.object_list
            number = max(-(-rows.count() // self.per_page), 1)
            page = self.read(number)
        return number, page


class UnreadableListError(Exception):
    """Raised if a URL's filters cannot be read, with a message for users."""


class RecordList(ChangeList):
    """One page of records of the current site."""

    has_next = False
    total: int | None = None
    at_least = 0
    """The number of rows on this page and the pages before it."""
    url_parameters: QueryDict
    """The list's URL, without what is empty in it."""

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        """Read the URL. The form of the filters also sends empty ones, which are ignored."""
        parameters = QueryDict(mutable=True)
        for name, values in request.GET.lists():
            if non_empty := [value for value in values if value]:
                parameters.setlist(name, non_empty)
        with self._reading():
            super().__init__(_with_query(request, parameters), *args, **options)

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> models.QuerySet[Any]:
        """Return the current site's records that match the filters."""
        page: Any = self.model_admin
        self.site, self.reader = current_site(request), user_of(request)
        self.url_parameters = request.GET.copy()
        self.root_queryset = page.at_site(self.root_queryset, self.site)
        rows: models.QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        if fault := _unreadable(self.filter_specs):
            raise UnreadableListError(gettext("The list cannot be filtered by “%(fault)s”.") % {"fault": fault[:100]})
        return rows.none() if self._names_hidden() else rows

    @property
    def may(self) -> Callable[[str], bool]:
        """Return the function that tells what the user may do at the current site."""
        return asking(self.reader, self.site.pk if self.site is not None else None)

    def _names_hidden(self) -> bool:
        """Return whether the URL filters the list by a record that does not exist for the user; usually no query."""
        for column in references(self.model, self.may):
            for name, values in self.filter_params.items():
                keys = [key for value in values for part in str(value).split(",") if (key := read_uuid(part))]
                if (
                    name.split("__")[0] == column.name
                    and keys
                    and column.related_model.hidden_from(self.reader.pk).filter(pk__in=keys).exists()
                ):
                    return True
        return False

    def without(self, names: Sequence[str]) -> str:
        """Return the list's URL without these parameters, on its first page."""
        query = self.url_parameters.copy()
        for name in (*names, PAGE_VAR):
            query.pop(name, None)
        return f"?{query.urlencode()}"

    def url_for_result(self, result: Any) -> str:
        """Return the URL that a row links to: the reading page, or else the form."""
        return address_of(result)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise UnreadableListError, which lists the filters, for a URL that Django or the database cannot read.

        A filter that the user may not use is treated like one that does not exist.
        """
        try:
            yield
        except UNREADABLE as error:
            filters = getattr(self, "filter_params", {})
            texts = [f"{name}={','.join(map(str, values))}"[:100] for name, values in filters.items()]
            label = gettext(" or ").join(f"“{text}”" for text in texts) or gettext("the filters in this address")
            raise UnreadableListError(
                gettext("The list cannot be filtered by %(named)s.") % {"named": label}
            ) from error

    def get_results(self, request: HttpRequest) -> None:
        """Read the page without counting the rows."""
        paginator: Any = self.model_admin.get_paginator(request, self.queryset, self.list_per_page)
        if issubclass(self.model, SiteRecord) and self.site is not None:
            paginator.heads = replica.heads_of(self.site.pk)
        self.page_num = min(max(self.page_num, 1), 100_000)
        self.page_num, self.result_list = paginator.read_or_last(self.page_num)
        without_hidden(self.reader.pk, self.may, self.result_list, lists=False)
        self.has_next = paginator.has_more
        self.at_least = (self.page_num - 1) * self.list_per_page + len(self.result_list)
        self.total = paginator.stored_count = self._known_total(request)
        self.result_count = paginator.count
        self.full_result_count = self.total
        self.show_full_result_count = False
        self.show_admin_actions = bool(self.result_list)
        self.can_show_all = False
        self.show_all = False
        self.multi_page = self.page_num > 1 or self.has_next
        self.paginator = paginator

    @cached_property
    def restrictions(self) -> list[tuple[str, str]]:
        """Return parameter and text of each restriction that is not one of the list's filters: `Product: Rye loaf`.

        One query for each kind of record among them; only names of the current site's records and of shared lists.
        """
        filter_parameters = {name for spec in self.filter_specs for name in spec.expected_parameters()}
        columns = {column.name: column for column in self.lookup_opts.concrete_fields}
        result = []
        for parameter, texts in self.filter_params.items():
            column: Any = columns.get(parameter.split("__")[0])
            if column is None or parameter in filter_parameters or parameter.endswith("__isnull"):
                continue
            values = [value for text in texts for value in str(text).split(",")]
            names = self.names_of(column.related_model, values) if column.is_relation else values
            if column.is_relation or column.choices:
                text = (
                    f"{capfirst(column.verbose_name)}: {gettext(' or ').join(names) or gettext('nothing at this site')}"
                )
                result.append((parameter, text))
        return result

    def names_of(self, model: type[models.Model], values: Sequence[str]) -> list[str]:
        """Return the names of the entries that belong to the current site or to shared lists."""
        return [str(row) for row in self.rows_of(model, values)]

    def rows_of(self, model: Any, values: Sequence[str]) -> list[Any]:
        """Return the entries with these ids that belong to the current site or to shared lists."""
        if not values:
            return []
        rows: Any = model._default_manager.filter(pk__in=[key for key in map(read_uuid, values) if key])
        if any(field.name == "site" for field in model._meta.concrete_fields):
            rows = rows.filter(site=self.site)
            rows = visible_to(self.reader.pk, self.may, rows)
        elif model._meta.app_label != "reference":
            return []
        return list(rows.order_by("pk")[:10])

    def _known_total(self, request: HttpRequest) -> int | None:
        """Return the number of rows if it is known without counting: on the last page, or in an unfiltered list."""
        if not self.has_next:
            return self.at_least
        entity = getattr(self.model, "ENTITY", None)
        site = current_site(request)
        used = {name for name in self.params if name != ArchivedFilter.parameter_name}
        if entity is None or site is None or self.query or used or self.filter_params.keys() - {"archived"}:
            return None
        if hides(self.model, self.may):
            # The stored total counts what does not exist for the user, too.
            return None
        count_unnumbered: Any = getattr(self.model_admin, "count_unnumbered", lambda site_id: (0, 0))
        everything, archived = map(sum, zip(totals(site.pk, entity), count_unnumbered(site.pk), strict=True))
        which = self.filter_params.get("archived", [""])[-1]
        return {"": everything - archived, "yes": archived, "all": everything}.get(which)


def list_of_query(model_admin: Any, request: HttpRequest, query: QueryDict) -> RecordList:
    """Return the admin's list as a URL with this query would show it; raises UnreadableListError."""
    changelist: RecordList = model_admin.get_changelist_instance(_with_query(request, query))
    return changelist


def _with_query(request: HttpRequest, query: QueryDict) -> HttpRequest:
    """Return a copy of the request with another query."""
    page_request = copy(request)
    page_request.GET = query  # type: ignore[assignment]
    return page_request


def _unreadable(specs: Sequence[object]) -> str:
    """Return a value in the URL that is not among the filter's choices, such as `archived=maybe`."""
    for spec in specs:
        if isinstance(spec, admin.SimpleListFilter):
            choices = {None, "", *(str(value) for value, _ in spec.lookup_choices)}
            if spec.value() not in choices:
                return f"{spec.parameter_name}={spec.value()}"
        for name, text in getattr(spec, "unreadable", ()):
            return f"{name}={text}"
    return ""


def search(rows: models.QuerySet[Any], names: Sequence[str], text: str) -> models.QuerySet[Any]:
    """Filter rows as `searching` does; on PostgreSQL one query."""
    return run_reads([searching(rows, names, text)])[0]


def searching(rows: models.QuerySet[Any], names: Sequence[str], text: str) -> Reads[models.QuerySet[Any]]:
    """Filter rows to those that contain every word of the text, in any case, in a named column or as their number."""
    words = text.split()[:8]
    has_number = _has_number(rows.model)
    if "\x00" in text or (words and not names and not has_number):
        return rows.none()
    return (
        yield from finding(
            rows, names, [(word, as_number(word.lstrip("#"), 15) if has_number else None) for word in words]
        )
    )


def _has_number(model: type[models.Model]) -> bool:
    return any(field.name == "site_sequence_id" for field in model._meta.concrete_fields)
