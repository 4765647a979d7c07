"""The back-office pages of the reference lists."""

import uuid
from typing import Any, ClassVar, Unpack

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext

from records.accounts import access
from records.backoffice.current import author_of
from records.backoffice.inlines import RowsTabular
from records.backoffice.plain_records import PlainAdmin
from records.reference import actions
from records.reference.lists import SITE_LISTS, SYSTEM_LISTS
from records.reference.models import Checklist, ChecklistQuestion, Rating, RatingResponse, ScoreBand
from records.sites.writing import Values, WriteArgs


class EntryAdmin(PlainAdmin):
    """A list of one site: its administrators add, change and archive entries."""

    list_display = ("name", "code", "idx")
    search_fields: ClassVar[Any] = ("name", "code")
    ordering: ClassVar[Any] = ("idx", "name", "id")
    fieldsets: ClassVar[Any] = ((None, {"fields": ("name", "code", "idx")}),)

    def own_fieldsets(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        """Return the fields; above those of an entry that is edited, what a new name means for the records."""
        [(title, options), *other_fieldsets] = super().own_fieldsets(request, obj)
        text = gettext(
            "Records that name this entry show its new name too, also completed ones. If you mean something else, "
            "archive this entry and add a new one."
        )
        return [
            (title, options if obj is None else {**options, "description": format_html("<p>{}</p>", text)}),
            *other_fieldsets,
        ]

    def add_record(self, request: HttpRequest, site_id: uuid.UUID | None, values: Values) -> Any:
        """Add an entry to the list."""
        return actions.add_entry(self.model, values, author=author_of(request), site_id=site_id)

    def update_record(self, request: HttpRequest, record: Any, values: Values, **options: Unpack[WriteArgs]) -> Any:
        """Change an entry of the list."""
        return actions.update_entry(record, values, **options)


class SharedEntryAdmin(EntryAdmin):
    """A list that all sites share: everybody with its view permission can read it, and superusers can change it."""

    site_field = None

    def may(self, request: HttpRequest, action: str, record: Any = None) -> bool:
        """Return whether the user may do this to a list that all sites share."""
        if action == "view":
            return access.may_anywhere(request.user, self.permission("view"))
        return super().may(request, action, record)

    def has_history_permission(self, request: HttpRequest, obj: models.Model) -> bool:
        """Return whether the user may read the entry's history."""
        return access.may_anywhere(request.user, "history.view_change")


class ResponseRows(RowsTabular):
    """The responses of a rating; findings keep a response that is removed here."""

    model = RatingResponse
    fields = ("name", "description", "score", "fails")

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Return the responses that can be chosen."""
        return super().get_queryset(request).filter(is_archived=False)


class BandRows(RowsTabular):
    """The score bands of a rating."""

    model = ScoreBand
    fields = ("from_score", "to_score", "rating", "result")


class RatingAdmin(EntryAdmin):
    """The scales of audits, with their responses and score bands."""

    inlines = (ResponseRows, BandRows)


class QuestionRows(RowsTabular):
    """The questions of a checklist; findings keep the words of a question that is removed here."""

    model = ChecklistQuestion
    fields = ("question",)


class ChecklistAdmin(EntryAdmin):
    """The checklists of audits, with their questions."""

    inlines = (QuestionRows,)


SPECIAL: dict[object, type[EntryAdmin]] = {Rating: RatingAdmin, Checklist: ChecklistAdmin}
for _model in SITE_LISTS.values():
    admin.site.register(_model, SPECIAL.get(_model, EntryAdmin))
for _model in SYSTEM_LISTS.values():
    admin.site.register(_model, SharedEntryAdmin)
