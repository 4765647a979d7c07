"""The reading page of a record: its values, compact and printable, and related rows; Edit opens the form.

A fixed number of queries: the record with the records that it refers to, one for each list and each kind of child row,
two for its history, and one for each kind of record that can refer to it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib.admin.helpers import AdminReadonlyField
from django.contrib.admin.utils import flatten_fieldsets, quote
from django.db.models import Model
from django.forms import ModelForm
from django.forms.models import _get_foreign_key, modelform_factory
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import escape, format_html
from django.utils.text import capfirst
from django.utils.translation import gettext

from records.backoffice.about import address_of
from records.backoffice.conflicts import is_of
from records.backoffice.current import FormState, show_times_of, site_at, state_of
from records.backoffice.datetimes import NOTHING, format_datetime
from records.backoffice.history_pages import HistoryPages
from records.backoffice.permissions import Pages
from records.backoffice.statuses import status_tag
from records.backoffice.transitions import StepPages
from records.backoffice.wording import field_label, format_value, in_words, operation_label, without_markup
from records.sites.uses import pointing_at

RELATED_SHOWN = 5
CHANGES_SHOWN = 5
WIDE = 90
"""A value with at least this many characters uses the full width."""


class Fact(AdminReadonlyField):
    """One field of a record on the reading page."""

    request: HttpRequest

    @cached_property
    def text(self) -> str:
        """Return the value as the page shows it, as HTML."""
        name = self.field["field"]
        value = getattr(self.form.instance, name, None) if isinstance(name, str) else None
        return escape(format_value(value)) if isinstance(value, list) else in_words(self.contents())

    @property
    def plain_text(self) -> str:
        """Return the text as paper shows it, without markup; empty if the field has no value."""
        return "" if self.is_empty else without_markup(self.text)

    @property
    def is_empty(self) -> bool:
        """Return whether the field has no value."""
        return self.text.strip() in ("", NOTHING, "-")

    @property
    def is_wide(self) -> bool:
        """Return whether the value needs the full width of the page."""
        return len(self.text) > WIDE and "<a " not in self.text[:3]

    def get_admin_url(self, remote_field: object, remote_obj: Any) -> str:
        """Return a link to the page of the record that the field refers to, for those who may open it."""
        model_admin: Any = self.model_admin
        page: Any = model_admin.admin_site._registry.get(type(remote_obj))
        is_open = page is not None and page.has_view_permission(self.request, remote_obj)
        url = address_of(remote_obj) if is_open else ""
        return format_html('<a href="{}">{}</a>', url, remote_obj) if url else str(remote_obj)


@dataclass(frozen=True, slots=True)
class RelatedRecords:
    """Records of one kind that refer to the record, the newest first."""

    key: str
    title: str
    rows: Sequence[dict[str, Any]]
    has_more: bool
    list_url: str


class ReadingPage(StepPages, HistoryPages):
    """The reading page of a kind of record."""

    own_pages: ClassVar[Pages] = (("<uuid:object_id>/", "reading_view", "read"),)
    opens_reading = True

    def reading_view(self, request: HttpRequest, object_id: Any) -> HttpResponse:
        """Show the record."""
        page: Any = self
        record = self.record_or_404(request, str(object_id))
        facts, children = self.content_of(request, record)
        app, model = self.opts.app_label, self.opts.model_name
        kind, status = capfirst(str(self.opts.verbose_name)), getattr(record, "record_status", "")
        steps, additions = self.steps_for(request, record), self.additions_to(request, record)
        return self.page_response(
            request,
            "backoffice/reading.html",
            str(record),
            original=record,
            # Shown only once, because some records are called by their kind and number.
            kind="" if str(record).startswith(kind) else kind,
            number=getattr(record, "site_sequence_id", None),
            status=status_tag(record) if status else "",
            record_site=site_at(request, self.site_id_of(record)),
            sections=[(title, [fact for fact in part if not fact.is_empty]) for title, part in facts],
            left_empty=[fact.field["label"] for _, part in facts for fact in part if fact.is_empty],
            children=children,
            related=list(self._related_records(request, record)),
            edit_url=reverse(f"admin:{app}_{model}_change", args=(quote(record.pk),))
            if page.has_change_permission(request, record)
            else "",
            record_steps=steps,
            **additions,
            next_steps=[
                *(step for step in steps if step["is_next"]),
                *(link for link in additions["record_links"] if link.is_next),
            ],
            show_history=self.has_history_permission(request, record),
            recent=self._recent(request, record),
        )

    def content_of(
        self, request: HttpRequest, record: Model
    ) -> tuple[list[tuple[str, list[Fact]]], list[dict[str, Any]]]:
        """Return what the record says to this user: the facts of each part, by its title, and the child rows.

        References to records that do not exist for the user are emptied, and times are those of the record's site.
        """
        page: Any = self
        self.hide_targets(request, record)
        state = state_of(request).form = FormState(record, self.site_id_of(record), writable=False)
        show_times_of(site_at(request, self.site_id_of(record)))
        state.fieldsets = page.get_fieldsets(request, record)
        facts = [
            (title, self._facts(request, record, flatten_fieldsets(options["fields"] and [(title, options)]), self))
            for title, options in state.fieldsets
        ]
        return facts, list(self._children(request, record))

    def _facts(self, request: HttpRequest, record: Model, names: Sequence[Any], model_admin: Any) -> list[Fact]:
        form = modelform_factory(type(record), form=ModelForm, fields=[])(instance=record)
        facts = [Fact(form, name, is_first=False, model_admin=model_admin) for name in names if name != "record_status"]
        for fact in facts:
            fact.request = request
        return facts

    def _children(self, request: HttpRequest, record: Model) -> Iterator[dict[str, Any]]:
        """Yield each kind of child row with its columns and cells, without empty columns."""
        inlines: Any = self.get_inline_instances(request, record)
        for inline in inlines:
            key = _get_foreign_key(self.model, inline.model, fk_name=inline.fk_name)
            names = [
                inline.read_only_name_of(name)
                for name in flatten_fieldsets(inline.get_fieldsets(request, record))
                if name != key.name
            ]
            rows = [
                self._facts(request, row, names, inline)
                for row in inline.get_queryset(request).filter(**{key.name: record})
            ]
            if not rows:
                continue
            places = [place for place in range(len(names)) if any(not row[place].is_empty for row in rows)]
            yield {
                "key": inline.model._meta.model_name,
                "title": capfirst(str(inline.verbose_name_plural)),
                "columns": [rows[0][place].field["label"] for place in places],
                "rows": [[row[place] for place in places] for row in rows],
            }

    def _related_records(self, request: HttpRequest, record: Model) -> Iterator[RelatedRecords]:
        """Yield the records of each kind that refer to this one and that the user may see."""
        for model, condition, field in pointing_at(record):
            visible_rows, options = self.visible_rows(request, model, getattr(record, "site_id", None)), model._meta
            if visible_rows is None:
                continue
            foreign = [column.name for column in options.concrete_fields if column.is_relation]
            keys = model._default_manager.filter(condition).exclude(pk=record.pk).values("pk")
            rows = visible_rows.filter(pk__in=keys).select_related(*foreign)
            newest = list(rows.order_by("-site_sequence_id", "-pk")[: RELATED_SHOWN + 1])
            if not newest:
                continue
            list_url = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")
            yield RelatedRecords(
                str(options.model_name),
                capfirst(str(options.verbose_name_plural)),
                [{"url": address_of(row), "row": row, "tag": status_tag(row)} for row in newest[:RELATED_SHOWN]],
                len(newest) > RELATED_SHOWN,
                f"{list_url}?{field}__id__exact={record.pk}" if field else "",
            )

    def _recent(self, request: HttpRequest, record: Model) -> list[dict[str, Any]]:
        """Return the newest changes in one line each, if the user may read the history."""
        if not self.has_history_permission(request, record):
            return []
        hidden_fields = self.hidden_in_history(request, record)
        return [
            {
                "at": format_datetime(change.at),
                "who": change.author_name or gettext("The system"),
                "did": operation_label(change.operation, change.model),
                "reason": change.reason,
                # A box that nobody ticked says nothing about a new record.
                "fields": [
                    field_label(self.model, name)
                    for name in dict.fromkeys(
                        entry["field"].split(".")[0]
                        for entry in change.fields
                        if entry["old"] is not None or entry["new"] is not False
                    )
                    if name not in hidden_fields
                ]
                if is_of(change, record)
                else [change.record_name],
            }
            for change in self.history_of(request, record)[:CHANGES_SHOWN]
        ]
