"""How often a person wants to be reminded, and the one reminder of a person and day."""

import uuid
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from records.history.trail import now


class Frequency(models.TextChoices):
    """How often a person is reminded (DECISIONS 12.5)."""

    DAILY = "Daily", _("Every day")
    WEEKLY = "Weekly", _("Every Monday")
    OFF = "Off", _("Only what is overdue, every Monday")


class Preference(models.Model):
    """How often a person wants to be reminded; without a row, every day."""

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("user",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.OneToOneField("accounts.User", models.CASCADE, related_name="+")
    frequency = models.CharField(max_length=10, choices=Frequency.choices, default=Frequency.DAILY)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"Reminders of {self.user}"


class Reminder(models.Model):
    """The reminder of a person and day. The row is unique, so no two workers write the mail of one day twice.

    `records.reminders.tasks` sends it. A worker that takes a reminder first sets `due` to a later time, so that no two
    workers send it, and so that a reminder whose worker was killed becomes due again. If the mail server takes longer
    than that, the mail may be sent twice, under the same Message-ID.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey("accounts.User", models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    due = models.DateTimeField(default=now)
    attempts = models.PositiveIntegerField(default=0)
    sent = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=255, blank=True)

    class Meta:
        ordering = ("day", "id")
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=("user", "day"), name="one_reminder_a_person_and_day"),)
        indexes = (models.Index(fields=("due",), condition=Q(sent__isnull=True), name="reminder_unsent_by_due"),)

    def __str__(self) -> str:
        return f"{self.day}: {self.user}"
