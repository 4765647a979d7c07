"""Auditor's packs: what was asked for, the progress, and the file as long as it is kept."""

import datetime
import uuid
from typing import ClassVar

from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.files.models import FileRecord
from records.history.stamps import Step
from records.history.trail import now
from records.sites.models import SiteRows

RETENTION = datetime.timedelta(days=7)
"""How long the file of a pack is stored."""
MAKE, OPEN_ANY = "packs.make_pack", "packs.open_any_pack"


class Status(models.TextChoices):
    """The status of a pack."""

    WAITING = "Waiting", _("Waiting")
    MAKING = "Being made", _("Being made")
    MADE = "Ready", _("Ready")
    FAILED = "Failed", _("Failed")
    REMOVED = "Removed", _("Removed")


UNFINISHED = (Status.WAITING, Status.MAKING)


class Pack(models.Model):
    """One pack: the site, the days and the kinds of record that were asked for, and the progress of the worker.

    `attempts` counts how often a worker began to make it. Every write to the row names its attempt, so that a worker
    that seemed to be dead cannot overwrite what a later one did.
    """

    HISTORY_STEPS: ClassVar[tuple[Step, ...]] = (Step("asked_by", "created"),)
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = (
        "site",
        "created",
        "asked_by",
        "status",
        "done",
        "total",
        "attempts",
        "problem",
        "left_out",
        "made",
        "permissions",
    )

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey("sites.Site", models.PROTECT, related_name="+", db_index=False)
    asked_by = models.ForeignKey("accounts.User", models.PROTECT, related_name="+")
    created = models.DateTimeField(default=now)
    first = models.DateField("first day")
    last = models.DateField("last day")
    kinds = models.JSONField("contents", default=list)
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.WAITING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=255, blank=True)
    left_out = models.PositiveIntegerField(default=0)
    """The number of files that are missing or damaged and are therefore only named in the pack."""
    made = models.DateTimeField(null=True, blank=True)
    permissions = models.JSONField(default=list, blank=True)
    """The permissions that decided what the pack shows. Opening it needs the same permissions."""

    objects = SiteRows.as_manager()

    class Meta:
        ordering = ("-created", "id")
        verbose_name = "auditor's pack"
        default_permissions = ()
        permissions = (
            ("make_pack", "Can make auditor's packs and open their own"),
            ("open_any_pack", "Can open auditor's packs that others made"),
        )
        indexes = (
            models.Index(fields=("site", "-created", "id"), name="pack_newest_of_site"),
            models.Index(fields=("status", "made"), name="pack_by_status"),
        )

    def __str__(self) -> str:
        return gettext("%(first)s to %(last)s") % {"first": self.first, "last": self.last}

    @property
    def kept_until(self) -> datetime.datetime | None:
        """Return the time at which the file is removed; None if there is no file."""
        return None if self.made is None else self.made + RETENTION

    @property
    def percent(self) -> int:
        """Return how much of the pack is done."""
        return min(100 * self.done // self.total, 99) if self.total else 0


class PackFile(FileRecord):
    """The ZIP of a pack. It is removed after 7 days; a person who needs it longer makes the pack again."""

    IS_KEPT = False

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pack = models.OneToOneField(Pack, models.CASCADE, related_name="file")

    class Meta:
        default_permissions = ()
        verbose_name = "auditor's pack"

    def __str__(self) -> str:
        return f"the pack {self.pack}"
