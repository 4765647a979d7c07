"""The form field for each model field on every back-office page."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, ClassVar

from django import forms
from django.contrib.admin import AdminSite
from django.db import models
from django.http import HttpRequest
from django.utils.text import capfirst

from records.accounts import access
from records.backoffice.autocomplete import choices_at, choose_url
from records.backoffice.current import form_state, user_of
from records.backoffice.datetimes import moment_column, number_column, times_are_in
from records.backoffice.fields import (
    AddressInput,
    ChooseFrom,
    DayField,
    MomentField,
    NumberField,
    ReferenceField,
    ReferencesField,
    TextField,
)
from records.reference.lists import LISTS
from records.sites.hidden import visible_to
from records.sites.text import FREE_TEXT


class Suggestions(forms.TextInput):
    """A text input that suggests the names of a list."""

    template_name = "backoffice/suggestions.html"

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__()
        self.names = names

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        """Return the input's context with its suggestions."""
        context = super().get_context(name, value, attrs)
        context["suggestions"] = list(self.names)
        context["widget"]["attrs"]["list"] = f"{context['widget']['attrs'].get('id', name)}-list"
        return context


class RecordFields:
    """Makes the form fields of a record's page and of its rows."""

    moments: ClassVar[tuple[str, ...]] = ()
    """Date-time fields with a time of day, shown in the site's time zone; the others are days."""

    suggestions: ClassVar[Mapping[str, str]] = {}
    """Free text fields with the site list whose names are suggested, such as `{"department": "Department"}`."""

    admin_site: AdminSite
    model: Any

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the form field of a model field."""
        options = {
            "required": not db_field.blank,
            "label": capfirst(str(db_field.verbose_name)),
            "help_text": db_field.help_text,
        }
        if isinstance(db_field, models.DateTimeField):
            if db_field.name not in self.moments:
                return DayField(**options)
            help_text = f"{db_field.help_text} {times_are_in()}".strip()
            return MomentField(**{**options, "help_text": help_text})
        if isinstance(db_field, models.ForeignKey | models.ManyToManyField):
            return reference_field(
                lambda: self.field_choices(request, db_field, _site_of(request)),
                lambda: choose_url(db_field, _site_of(request)),
                several=db_field.many_to_many,
                **options,
            )
        if isinstance(db_field, models.EmailField):
            return db_field.formfield(widget=AddressInput, **kwargs)
        if isinstance(db_field, models.TextField) and not db_field.choices:
            return TextField(max_length=db_field.max_length or FREE_TEXT, widget=forms.Textarea({"rows": 4}), **options)
        if isinstance(db_field, models.CharField) and not db_field.choices:
            has_suggestions = db_field.name in self.suggestions
            widget = self._suggestions(db_field.name, request) if has_suggestions else forms.TextInput()
            return TextField(max_length=db_field.max_length, widget=widget, **options)
        if isinstance(db_field, models.DecimalField):
            return db_field.formfield(form_class=NumberField, **kwargs)
        if db_field.choices:
            return super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[misc]
        return db_field.formfield(**kwargs)

    def field_choices(self, request: HttpRequest, field: Any, site_id: uuid.UUID | None) -> models.QuerySet[Any]:
        """Return what a foreign key or list may newly refer to, both in the form and where its choices are searched."""
        user = user_of(request)
        return visible_to(user.pk, access.asking(user, site_id), choices_at(field, site_id))

    def _suggestions(self, name: str, request: HttpRequest) -> forms.TextInput:
        site_id = _site_of(request)
        if site_id is None:
            return forms.TextInput()
        entries: Any = LISTS[self.suggestions[name]]
        names = entries.objects.at(site_id).filter(is_archived=False).values_list("name", flat=True)[:200]
        return Suggestions(names)

    def display_name_of(self, field: Any) -> Any:
        """Return what a read-only page or a list shows for a field: date-times use our own column."""
        column = _date_times(self.model).get(field) if isinstance(field, str) else None
        if column is None:
            return field
        return moment_column(field, column.verbose_name, day=field not in (*self.moments, *STAMPS))

    def read_only_name_of(self, field: Any) -> Any:
        """Return what a read-only page shows for a field: decimal numbers are shown without trailing zeros."""
        column = next((column for column in self.model._meta.concrete_fields if column.name == field), None)
        if isinstance(column, models.DecimalField):
            return number_column(field, str(column.verbose_name))
        return self.display_name_of(field)


STAMPS = ("created", "last_modified")


def reference_field(
    choose_from: ChooseFrom, address: Callable[[], str], *, several: bool = False, **options: Any
) -> ReferenceField:
    """Return the form field for one record (or several) of those in `choose_from`.

    `address` returns the URL at which the page's script searches for choices.
    """
    field = ReferencesField(**options) if several else ReferenceField(**options)
    field.choose_from = field.widget.choose_from = choose_from
    field.widget.address = address
    return field


def _site_of(request: HttpRequest) -> uuid.UUID | None:
    state = form_state(request)
    return state.site_id if state is not None else None


@cache
def _date_times(model: type[models.Model]) -> dict[str, Any]:
    return {field.name: field for field in model._meta.concrete_fields if isinstance(field, models.DateTimeField)}
