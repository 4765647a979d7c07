"""Attachments: a file on any record, or on one finding of an audit."""

from collections.abc import Iterable
from typing import ClassVar

from django.db import models
from django.db.models import Q

from records.files.models import FileRecord
from records.history.digests import FieldChange
from records.history.visibility import NOBODY
from records.sites.about import AboutRecord
from records.sites.models import Entity, SiteRecord, site_record_constraints
from records.sites.text import FreeTextField, LineField


class Attachment(AboutRecord, FileRecord, SiteRecord):
    """A file that belongs to a record. It is never altered, and archived instead of deleted (DECISIONS 12.1)."""

    ENTITY = Entity.ATTACHMENT
    SEARCHED: ClassVar[tuple[str, ...]] = ("name", "description", "file_name")
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = (*SiteRecord.HISTORY_EXCLUDE, "entity", "path")

    record_id = models.UUIDField("record", editable=False)
    name = LineField()
    description = FreeTextField()

    class Meta:
        ordering = ("site_sequence_id", "id")
        constraints = (
            *site_record_constraints("attachment"),
            models.CheckConstraint(condition=Q(file_size__gt=0), name="attachment_has_a_file"),
            models.CheckConstraint(condition=~Q(entity=""), name="attachment_is_on_a_record"),
        )
        indexes = (
            models.Index(fields=("record_id", "created"), name="attachment_of_record"),
            models.Index(fields=("site", "created", "id"), name="attachment_by_created"),
            models.Index(fields=("site", "last_modified", "id"), name="attachment_by_last_modified"),
            # The size of a site's attachments is the sum over an index; no other row stores it.
            models.Index(fields=("site", "file_size"), name="attachment_sizes_of_site"),
        )
        permissions = (("archive_attachment", "Can archive and restore attachments"),)

    def __str__(self) -> str:
        return self.name or self.file_name

    def history_role(self, changed: Iterable[FieldChange]) -> str:
        """Return the lowest default role that may see the change: that of the record's attachments."""
        record = self.about()
        return NOBODY if record is None else record.attachments_role()

    def location(self) -> str:
        """Return where the file belongs: site, attachment and record."""
        return f"{self.site}: attachment {self.site_sequence_id} ({self.pk}) of the {self.entity} {self.record_id}"
