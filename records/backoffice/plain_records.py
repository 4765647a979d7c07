"""The common pages of rows that are not numbered records: sites, list entries, accounts, roles."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

from django.db import models
from django.http import HttpRequest

from records.backoffice.records import RecordAdmin
from records.backoffice.transitions import ARCHIVE, RESTORE, RecordStep
from records.history.trail import recording

CHANGE_TO_ARCHIVE = (replace(ARCHIVE, permission="change"), replace(RESTORE, permission="change"))
"""Archiving and restoring for models without a separate permission for it."""


@contextmanager
def unchanged_since_seen(record: models.Model, precondition: Callable[[Any], None]) -> Iterator[None]:
    """Open the write's transaction, lock the row, and check the precondition before the block runs."""
    with recording():
        precondition(type(record)._default_manager.select_for_update(of=("self",), no_key=True).get(pk=record.pk))
        yield


class PlainAdmin(RecordAdmin):
    """Pages of a model without number, folder and revision."""

    record_actions: Sequence[RecordStep] = CHANGE_TO_ARCHIVE
    stamps: ClassVar[tuple[str, ...]] = ("created", "last_modified")
    ordering: ClassVar[Any] = ("name", "id")
    search_fields: ClassVar[Any] = ("name",)

    def has_archive_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may archive: users who may change the row may."""
        return self.may(request, "change", obj)
