"""Pages about reading: a person's reading list, the confirmation, the readers of a document, and a site's matrix."""

import datetime
import uuid
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from documents import reading
from documents.models import IN_FORCE, Document, DocumentVersion, Reading
from records.accounts import access
from records.accounts.models import User
from records.backoffice.current import (
    author_of,
    show_times_of,
    site_at,
    site_where,
    user_of,
    zone_of,
)
from records.backoffice.date_filters import SINCE, UNTIL, address_part, day_of, parse_day, today_at
from records.backoffice.datetimes import format_day
from records.backoffice.due import format_due_date
from records.backoffice.extension_points import RecordLink, menu_link
from records.backoffice.responses import page_response
from records.backoffice.transfer.sheets import KINDS, Line, report_file
from records.history.counting import Counting
from records.sites.writing import RecordNotFoundError

SEE = "documents.view_reading"
PEOPLE, DOCUMENTS = 50, 8
"""The number of rows and columns on one page of the matrix."""
AT_ONCE = 20
"""The number of documents whose readings are read together for a file."""


def record_links(request: HttpRequest, record: Any) -> Sequence[RecordLink]:
    """Return the link from a document's page to its readers, for users who may see readings."""
    if not isinstance(record, Document) or not access.may(request.user, record.site_id, SEE):
        return ()
    return (
        RecordLink(
            "readers", gettext("Readers"), reverse("admin:documents_document_readers", args=(quote(record.pk),))
        ),
    )


menu_links = menu_link("readings", _("Who has read what"), "admin:documents_readings", SEE, group="Reports")


def my_reading(request: HttpRequest) -> HttpResponse:
    """Show the versions that the signed-in person must read at all their sites."""
    page = _page(reading.waiting_for(user_of(request)), request.GET.get("page"), PEOPLE)
    return page_response(
        request,
        "documents/reading.html",
        gettext("Documents that I must read"),
        page=page,
        rows=[{"version": version, "due": format_due_date(reading.due(version))} for version in page],
    )


def confirm(request: HttpRequest, version_id: uuid.UUID) -> HttpResponse:
    """Show a version that this person must read, and record the confirmation."""
    user = user_of(request)
    version = reading.waiting_for(user).filter(pk=version_id).first()
    if version is None:
        messages.warning(request, gettext("You need not read this version, or you have read it already."))
        return redirect("admin:documents_reading")
    if request.method == "POST":
        try:
            reading.confirm(version_id, user, author=author_of(request))
        except ValidationError as fault:
            messages.warning(request, " ".join(fault.messages))
        except RecordNotFoundError:
            raise Http404 from None
        else:
            messages.success(
                request,
                gettext("%(document)s, %(version)s: you have read and understood it.")
                % {"document": version.document, "version": version},
            )
        return redirect("admin:documents_reading")
    show_times_of(version.document.site)
    return page_response(
        request,
        "documents/read.html",
        gettext("Read: %(document)s, %(version)s") % {"document": version.document, "version": version},
        version=version,
        document=version.document,
        due=format_due_date(reading.due(version)),
    )


def readers(request: HttpRequest, document: Document) -> HttpResponse:
    """Show who must read a document's version in force, who has read it and who has not; seven queries."""
    if not access.may(request.user, document.site_id, SEE):
        raise PermissionDenied
    show_times_of(site_at(request, document.site_id))
    version = DocumentVersion.objects.filter(document=document, record_status__in=IN_FORCE).first()
    required = reading.readers_of([document.pk])[document.pk] if version is not None else frozenset()
    have_read = set(Reading.objects.filter(version=version).values_list("user_id", flat=True)) if version else set()
    only_missing = request.GET.get("show") == "missing"
    page = _page(_people(required - have_read if only_missing else required), request.GET.get("page"), PEOPLE)
    readings = _newest_readings([document.pk], page)
    return page_response(
        request,
        "documents/readers.html",
        gettext("Readers: %(document)s") % {"document": document},
        opts=document._meta,
        original=document,
        back=reverse("admin:documents_document_read", args=(quote(document.pk),)),
        version=version,
        asked=len(required),
        read=len(required & have_read),
        missing=only_missing,
        page=page,
        rows=[{"person": user, **_cell(version, readings.get((user.pk, document.pk)))} for user in page],
    )


class MatrixQuery:
    """The readings that the address of the matrix, or of its file, asks for, at the current site."""

    def __init__(self, request: HttpRequest) -> None:
        """Read the address; `fault` names a day that cannot be read."""
        self.site = site_where(request, SEE)
        self.zone = zone_of(self.site)
        texts = [request.GET.get(f"due__{end}", "") for end in (SINCE, UNTIL)]
        self.since, self.until = map(parse_day, texts)
        unread = zip(texts, (self.since, self.until), strict=True)
        self.fault = next((f"due: {text}" for text, day in unread if text and day is None), "")
        first, last = self.since or datetime.date.min, self.until or datetime.date.max
        entries = reading.progress([self.site.pk], Counting(self.site.pk))
        self.all_entries = [
            entry for entry in entries if first <= day_of(entry.due, self.zone) <= last and not self.fault
        ]
        self.only_missing = request.GET.get("show") == "missing"
        self.entries = [entry for entry in self.all_entries if entry.missing_count or not self.only_missing]

    def people_of(self, entries: Sequence[reading.Progress]) -> dict[uuid.UUID, frozenset[uuid.UUID]]:
        """Return the people whom the matrix shows for these versions, by the Id of the version."""
        return (
            reading.missing_readers(entries)
            if self.only_missing
            else {entry.version_id: entry.readers for entry in entries}
        )


def matrix(request: HttpRequest) -> HttpResponse:
    """Show which people at the current site have read which documents; a fixed number of queries.

    `due__since` and `due__until`, days such as 2026-10-31, filter it to the documents that had to be read by then. A
    day that cannot be read is named (400).
    """
    query = MatrixQuery(request)
    fault, since, until, only_missing = query.fault, query.since, query.until, query.only_missing
    columns = _page(query.entries, request.GET.get("documents"), DOCUMENTS)
    entries = list(columns)
    required = {entry.version_id: entry.readers for entry in entries}
    versions = reading.shown_versions(entries)
    people = _page(_people(set().union(*query.people_of(entries).values())), request.GET.get("page"), PEOPLE)
    readings = _newest_readings({entry.document_id for entry in entries}, people)
    days = address_part("due", since, until)
    return page_response(
        request,
        "documents/matrix.html",
        gettext("Who has read what at %(site)s") % {"site": query.site},
        http_status=400 if fault else 200,
        fault=gettext("The list cannot be filtered by “%(fault)s”.") % {"fault": fault[:100]} if fault else "",
        columns=columns,
        heads=[(versions[entry.version_id], entry.due) for entry in entries],
        page=people,
        missing=only_missing,
        since=since,
        until=until,
        days=urlencode(days),
        query=urlencode({**days, **({"show": "missing"} if only_missing else {})}),
        kinds=KINDS,
        owed=sum(len(entry.readers) for entry in query.all_entries),
        read=sum(entry.read_count for entry in query.all_entries),
        rows=[
            {
                "person": user,
                "cells": [
                    _cell(versions[entry.version_id], readings.get((user.pk, entry.document_id)))
                    if user.pk in required[entry.version_id]
                    else {}
                    for entry in entries
                ],
            }
            for user in people
        ],
    )


@require_safe
def matrix_file(request: HttpRequest, kind: str) -> HttpResponseBase:
    """Answer every page of the matrix as one file; 404 for another kind of file, or for a day that cannot be read."""
    query = MatrixQuery(request)
    if kind not in KINDS or query.fault:
        raise Http404
    title = gettext("Who has read what")
    return report_file(_lines(query), kind, title, f"{title} {today_at(query.zone).isoformat()}")


def _lines(query: MatrixQuery) -> Iterator[Line]:
    """Yield a line for each document and person of the matrix; four queries for each twenty documents."""
    head = (gettext("Document"), gettext("Version"), gettext("Due"), gettext("Person"), gettext("State"))
    yield [*head, gettext("Read on")]
    for start in range(0, len(query.entries), AT_ONCE):
        entries = query.entries[start : start + AT_ONCE]
        versions, people_by_version = reading.shown_versions(entries), query.people_of(entries)
        people = list(_people(set().union(*people_by_version.values())))
        readings = _newest_readings({entry.document_id for entry in entries}, people)
        for entry in entries:
            version, due = versions[entry.version_id], day_of(entry.due, query.zone)
            for user in people:
                if user.pk not in people_by_version[entry.version_id]:
                    continue
                newest = readings.get((user.pk, entry.document_id))
                cell = _cell(version, newest)
                state = gettext("Has read it") if cell["state"] == "read" else cell["text"]
                on = newest.date.astimezone(query.zone).date() if newest is not None else None
                yield [str(version.document), version.version, due, str(user), state, on]


def _people(keys: AbstractSet[uuid.UUID]) -> QuerySet[User]:
    return User.objects.filter(pk__in=keys).order_by("family_name", "given_name", "user_name", "id")


def _newest_readings(
    documents: Iterable[uuid.UUID], people: Iterable[User]
) -> dict[tuple[uuid.UUID, uuid.UUID], Reading]:
    """Return each person's reading of the highest version that they have read, for each document; one query."""
    rows = Reading.objects.filter(document__in=list(documents), user__in=[user.pk for user in people])
    rows = rows.select_related("version").order_by("version__version")
    return {(row.user_id, row.document_id): row for row in rows}


def _cell(version: DocumentVersion | None, newest: Reading | None) -> dict[str, Any]:
    """Return the state of a person who must read a version in force: read, expired or missing."""
    if newest is None:
        return {"state": "missing", "text": gettext("Missing")}
    if version is not None and newest.version_id == version.pk:
        return {"state": "read", "text": format_day(newest.date)}
    return {
        "state": "expired",
        "text": gettext("Expired: read version %(version)s") % {"version": newest.version.version},
    }


def _page(rows: Any, number: str | None, size: int) -> Page[Any]:
    return Paginator(rows, size).get_page(number)


urlpatterns = [
    path("documents/reading/", my_reading, name="documents_reading"),
    path("documents/reading/<uuid:version_id>/", confirm, name="documents_read"),
    path("documents/readings/", matrix, name="documents_readings"),
    path("documents/readings/<str:kind>/", matrix_file, name="documents_readings_file"),
]
