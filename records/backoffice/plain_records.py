"""The common pages of rows that are not numbered records: sites, list entries, accounts, roles."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from django.db.models import Model
from django.http import HttpRequest

from records.backoffice.records import RecordAdmin
from records.backoffice.transitions import ARCHIVE, RESTORE, RecordStep

CHANGE_TO_ARCHIVE = (replace(ARCHIVE, permission="change"), replace(RESTORE, permission="change"))
"""Archiving and restoring for models without a separate permission for it."""


class PlainAdmin(RecordAdmin):
    """Pages of a model without number, folder and revision."""

    record_actions: Sequence[RecordStep] = CHANGE_TO_ARCHIVE
    stamps: ClassVar[tuple[str, ...]] = ("created", "last_modified")
    ordering: ClassVar[Any] = ("name", "id")
    search_fields: ClassVar[Any] = ("name",)

    def has_archive_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the user may archive: users who may change the row may."""
        return self.may(request, "change", obj)
