"""What users store about their lists: named filters, and the columns that they want to see."""

import uuid
from typing import ClassVar

from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from records.history.trail import now
from records.sites.models import SiteRows
from records.sites.text import LineField

LISTING = 100
QUERY = 4000


class SavedFilter(models.Model):
    """A named filter of a list, of one user at one site; a shared one is offered to everybody at the site.

    `query` is the part of the list's URL that filters it, without page and order.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey("accounts.User", models.CASCADE, related_name="+", db_index=False)
    site = models.ForeignKey("sites.Site", models.CASCADE, related_name="+", db_index=False)
    listing = models.CharField(max_length=LISTING)
    name = LineField(blank=False, max_length=80)
    query = models.CharField(max_length=QUERY)
    is_shared = models.BooleanField("shared", default=False)
    created = models.DateTimeField(default=now, editable=False)

    objects = SiteRows.as_manager()

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("created",)

    class Meta:
        ordering = ("name", "id")
        default_permissions = ()
        permissions = (("share_savedfilter", "Can share saved filters at the site"),)
        constraints = (
            models.UniqueConstraint("listing", "user", "site", Lower("name"), name="saved_filter_name_once"),
        )
        indexes = (models.Index(fields=("listing", "site", "is_shared"), name="saved_filter_of_list"),)

    def __str__(self) -> str:
        return self.name


class ListColumns(models.Model):
    """The columns that a user wants to see in a list, in the order of the list; without a row, the usual ones."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey("accounts.User", models.CASCADE, related_name="+", db_index=False)
    listing = models.CharField(max_length=LISTING)
    columns = models.JSONField(default=list)

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("user", "listing")

    class Meta:
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=("user", "listing"), name="columns_once_per_person_and_list"),)

    def __str__(self) -> str:
        return f"Columns of {self.listing}"


class FileImport(models.Model):
    """One import of a file: who imported what, when, why, and whether it was undone."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey("sites.Site", models.PROTECT, related_name="+", db_index=False)
    listing = models.CharField(max_length=LISTING, help_text=_("Kind of record, as app.model."))
    file_name = models.CharField(max_length=255, blank=True)
    reason = models.TextField(blank=True)
    at = models.DateTimeField(default=now, editable=False)
    user = models.ForeignKey("accounts.User", models.PROTECT, related_name="+", db_index=False)
    added = models.PositiveIntegerField()
    changed = models.PositiveIntegerField()
    taken_back = models.DateTimeField(null=True, blank=True)
    taken_back_by = models.ForeignKey(
        "accounts.User", models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )

    class Meta:
        ordering = ("-at", "id")
        default_permissions = ()
        indexes = (models.Index(fields=("site", "listing", "-at"), name="import_of_list"),)

    def __str__(self) -> str:
        return self.file_name


class ImportedRecord(models.Model):
    """One record that an import added or changed, and the change of its history that says how."""

    id = models.BigAutoField(primary_key=True)
    file_import = models.ForeignKey(FileImport, models.CASCADE, related_name="records")
    record_id = models.UUIDField()
    change_id = models.UUIDField()
    row = models.PositiveIntegerField(help_text=_("The number of its row in the file."))
    is_new = models.BooleanField()

    class Meta:
        ordering = ("row", "id")
        default_permissions = ()

    def __str__(self) -> str:
        return f"Row {self.row}"
