"""What every row with a stored file has in common; the tables belong to the rooms that store files."""

from collections.abc import Iterator
from typing import ClassVar

from django.apps import apps
from django.db import models

from records.sites.text import LineField


class FileRecord(models.Model):
    """A row with one file, which is never altered after it is stored. `path`, its place in the storage, is unique."""

    IS_KEPT: ClassVar[bool] = True
    """Whether the file is kept for ever, and is therefore part of backups and verifications."""

    file_type = LineField("file type", blank=False, editable=False)
    file_name = LineField("file name", blank=False, editable=False)
    file_size = models.PositiveBigIntegerField("file size", editable=False)
    file_hash = models.CharField("SHA-256 of the file", max_length=64, editable=False)
    path = models.CharField(max_length=255, unique=True, editable=False)

    class Meta:
        abstract = True

    def location(self) -> str:
        """Return where the file belongs, for the person who has to restore it."""
        return f"{self._meta.verbose_name} {self.pk}"


def file_models() -> Iterator[type[FileRecord]]:
    """Yield every model whose rows have a stored file."""
    yield from (model for model in apps.get_models() if issubclass(model, FileRecord))


def kept_file_models() -> Iterator[type[FileRecord]]:
    """Yield every model whose stored files are kept for ever, so that they are backed up and verified."""
    yield from (model for model in file_models() if model.IS_KEPT)
