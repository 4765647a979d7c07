"""Child rows on a record's page."""

from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest

from records.backoffice.current import form_state
from records.backoffice.formfields import RecordFields
from records.backoffice.forms import ChildForm, RecordFormSet


class _Rows(RecordFields):
    """What stacked and tabular rows share: users who may change the record may change its rows."""

    form: Any = ChildForm
    formset: Any = RecordFormSet
    extra = 0

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Return True: the page has already checked the permission."""
        return True

    def has_add_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Return whether the record may be changed."""
        return self._may_write(request)

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Return whether the record may be changed."""
        return self._may_write(request)

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Return whether the record may be changed: its history keeps a removed row."""
        return self._may_write(request)

    def _may_write(self, request: HttpRequest) -> bool:
        state = form_state(request)
        return state is not None and state.writable

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Return the rows with the records that they refer to."""
        rows = self.model._default_manager.all()
        foreign = [field.name for field in self.model._meta.concrete_fields if field.is_relation]
        return rows.select_related(*foreign)


class RowsStacked(_Rows, admin.StackedInline):  # type: ignore[type-arg]
    """Rows one below the other, for rows of many fields."""


class RowsTabular(_Rows, admin.TabularInline):  # type: ignore[type-arg]
    """Rows of a table, for rows of few fields."""
