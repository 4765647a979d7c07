"""Corrective and preventive actions, and the rules for each status."""

import uuid
from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.history.stamps import Step
from records.sites.about import AboutRecord, kinds
from records.sites.models import Entity, SiteRecord, site_record_constraints
from records.sites.text import FreeTextField, LineField, fault_at, is_blank


class Kind(models.TextChoices):
    """The purpose of an action: to correct a fault, to remove its cause, or to prevent it."""

    CORRECTION = "Correction", _("Correction")
    CORRECTIVE = "Corrective", _("Corrective")
    PREVENTIVE = "Preventive", _("Preventive")


class Priority(models.TextChoices):
    """How urgent an action is."""

    LOW = "Low", _("Low")
    MEDIUM = "Medium", _("Medium")
    HIGH = "High", _("High")


class Status(models.TextChoices):
    """The status of an action (DECISIONS 13.21)."""

    OPEN = "Open", _("Open")
    DONE = "Done", _("Done")
    CLOSED = "Closed", _("Closed")
    CANCELLED = "Cancelled", _("Cancelled")


UNFINISHED = (Status.OPEN, Status.DONE)
"""The statuses in which there is still something to do."""


class Action(AboutRecord, SiteRecord):
    """A task of its owner with a due date, about a record or about none, and the judgement of somebody else.

    `done_by` marked it as Done. `closed_by` judged whether it was effective and is neither the owner nor `done_by`.
    """

    ENTITY = Entity.ACTION
    SEEN_WHOLE_WITH = "documents.view_pending_version"
    ABOUT = (
        Entity.COMPLAINT,
        Entity.AUDIT_RECORD,
        Entity.DOCUMENT,
        Entity.ITEM,
        Entity.MATERIAL,
        Entity.CUSTOMER,
    )
    SEARCHED: ClassVar[tuple[str, ...]] = ("name", "description", "result")
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = (*SiteRecord.HISTORY_EXCLUDE, "entity", "done_by", "done_date")
    HISTORY_STEPS: ClassVar[tuple[Step, ...]] = (
        *SiteRecord.HISTORY_STEPS,
        Step("done_by", "done_date", to=(Status.DONE,), undone=(Status.OPEN,)),
    )

    name = LineField(blank=False)
    description = FreeTextField()
    kind = models.CharField(max_length=20, choices=Kind.choices, blank=True)
    cause = models.ForeignKey("reference.Cause", models.PROTECT, null=True, blank=True, related_name="+")
    owner = models.ForeignKey("accounts.User", models.PROTECT, related_name="+", db_index=False)
    due_date = models.DateTimeField("due")
    priority = models.CharField(max_length=10, choices=Priority.choices, blank=True)
    record_status = models.CharField(
        "status", max_length=20, choices=Status.choices, default=Status.OPEN, editable=False
    )
    result = FreeTextField(help_text=_("What was done, and what the result was."))
    done_by = models.ForeignKey(
        "accounts.User", models.PROTECT, null=True, blank=True, editable=False, related_name="+", db_index=False
    )
    done_date = models.DateTimeField("done", null=True, blank=True, editable=False)
    effective = models.BooleanField("it worked", null=True, blank=True, editable=False)
    closed_by = models.ForeignKey(
        "accounts.User", models.PROTECT, null=True, blank=True, editable=False, related_name="+", db_index=False
    )
    closed_date = models.DateTimeField("closed", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("site_sequence_id", "id")
        constraints = (
            *site_record_constraints("action"),
            models.CheckConstraint(
                condition=~Q(record_status=Status.CLOSED) | Q(effective__isnull=False),
                name="closed_action_is_judged",
            ),
        )
        indexes = (
            models.Index(fields=("record_id", "site_sequence_id"), name="action_of_record"),
            models.Index(fields=("owner", "record_status", "due_date"), name="action_of_owner"),
            models.Index(fields=("site", "record_status", "due_date"), name="action_by_due_date"),
            models.Index(fields=("site", "due_date", "id"), name="action_in_order_of_due_date"),
            models.Index(fields=("site", "last_modified", "id"), name="action_by_last_modified"),
            # The effectiveness by month is counted in the index alone.
            models.Index(
                fields=("site", "closed_date"),
                include=("effective",),
                condition=Q(record_status="Closed", is_archived=False),
                name="action_by_closed_date",
            ),
        )
        permissions = (
            ("close_action", "Can close, send back, cancel and reopen actions"),
            ("archive_action", "Can archive and restore actions"),
        )

    def record_role(self) -> str:
        """Return the lowest default role that sees the action: that of the record that it is about."""
        record = self.about()
        return super().record_role() if record is None else record.record_role()

    @classmethod
    def hidden_from(cls, user_id: uuid.UUID) -> models.QuerySet[Any]:
        """Return the actions about records that are hidden from an account. An owner sees their own all the same."""
        about = Q(pk__in=())
        for entity in cls.ABOUT:
            if kinds()[entity].SEEN_WHOLE_WITH:
                hidden_records = kinds()[entity].hidden_from(user_id).order_by().values("pk")
                about |= Q(entity=entity, record_id__in=hidden_records)
        return cls.objects.filter(about).exclude(owner=user_id)

    def clean(self) -> None:
        """Check that a Done action has a result and that a Closed one has a judgement."""
        if self.record_status in (Status.DONE, Status.CLOSED) and is_blank(self.result):
            raise fault_at("result", gettext("Say what was done and what the result was."), "RequiredField")
