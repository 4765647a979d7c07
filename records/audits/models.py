"""Audit programs, and their audit records with findings."""

from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.reference.models import QUESTION
from records.sites.checking import refuse_to_finish_before_the_start
from records.sites.models import ChildRow, Entity, SiteRecord, site_record_constraints
from records.sites.text import FreeTextField, LineField, fault_at


class ProgramType(models.TextChoices):
    """The type of an audit: who audits whom."""

    INTERNAL_AUDIT = "Internal Audit", _("Internal Audit")
    SITE_AUDIT = "Site Audit", _("Site Audit")
    SITE_SELF_ASSESSMENT = "Site Self-assessment", _("Site Self-assessment")


class Risk(models.TextChoices):
    """How much harm a failure could do; a program may also leave it empty."""

    NONE = "None", _("None")
    LOW = "Low", _("Low")
    MEDIUM = "Medium", _("Medium")
    HIGH = "High", _("High")


class RecordStatus(models.TextChoices):
    """The status of an audit (DECISIONS 5)."""

    SCHEDULED = "Scheduled", _("Scheduled")
    IN_PROGRESS = "In Progress", _("In Progress")
    AWAITING_REVIEW = "Awaiting Review", _("Awaiting Review")
    COMPLETED = "Completed", _("Completed")
    CANCELLED = "Cancelled", _("Cancelled")


OPEN = (RecordStatus.SCHEDULED, RecordStatus.IN_PROGRESS, RecordStatus.AWAITING_REVIEW)
"""The statuses of an audit that is not finished yet."""

RATED_STATUSES = (RecordStatus.AWAITING_REVIEW, RecordStatus.COMPLETED)
"""The statuses in which an audit has a score, a rating and a result; in all others these are empty."""


class AuditProgram(SiteRecord):
    """What is audited repeatedly, by whom, with which checklists, and how often.

    `next_due_date` is when the next audit is due; completing an audit moves it forward by `frequency_months`.
    """

    ENTITY = Entity.AUDIT_PROGRAM
    TAKES_FROM_OTHER_SITES: ClassVar[tuple[str, ...]] = ("employees.Employee",)
    SEARCHED: ClassVar[tuple[str, ...]] = ("name", "department")

    name = LineField(blank=False)
    type = LineField(blank=False, choices=ProgramType.choices, max_length=30)
    department = LineField()
    risk = LineField(choices=Risk.choices, max_length=10)
    auditors = models.ManyToManyField("employees.Employee", blank=True, related_name="+")
    auditees = models.ManyToManyField("employees.Employee", blank=True, related_name="+")
    procedures = models.ManyToManyField("documents.Document", blank=True, related_name="+")
    checklists = models.ManyToManyField("reference.Checklist", blank=True, related_name="+")
    rating = models.ForeignKey("reference.Rating", models.PROTECT, null=True, blank=True, related_name="+")
    rating_response = models.ForeignKey(
        "reference.RatingResponse",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("The response that its audits are expected to reach."),
    )
    frequency_months = models.PositiveSmallIntegerField(
        "frequency in months",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(120)],
        help_text=_("The number of months between two audits. Leave empty if there is only one audit."),
    )
    next_due_date = models.DateTimeField("next due date", null=True, blank=True)

    class Meta:
        ordering = ("site_sequence_id", "id")
        constraints = site_record_constraints("auditprogram")
        indexes = (
            models.Index(fields=("site", "name"), name="auditprogram_by_name"),
            models.Index(fields=("site", "next_due_date"), name="auditprogram_by_due_date"),
            models.Index(fields=("site", "last_modified"), name="auditprogram_by_last_modified"),
        )
        permissions = (("archive_auditprogram", "Can archive and restore audit programs"),)

    def clean(self) -> None:
        """Check that the response belongs to the rating."""
        if self.rating_response is not None and self.rating_response.rating_id != self.rating_id:
            text = gettext("This is not a response of the program's rating.")
            raise fault_at("rating_response", text, "InvalidReference")


def audit_name(program: str, number: int | None) -> str:
    """Return the name of an audit: its program's name and its number."""
    return f"{program} {number or ''}".strip()


class AuditRecord(SiteRecord):
    """One audit of a program: when it is due and took place, who took part, what was found and how it was rated.

    People, checklists and rating are copied from the program when the audit is scheduled, and can differ from the
    program afterwards. Score, rating and result are calculated from the findings (records.audits.scores) and then
    stored. They are empty until the audit is submitted for review, and when it is cancelled, because an unfinished
    audit has no score. `is_extra` marks an audit besides those that the program's frequency asks for.
    """

    ENTITY = Entity.AUDIT_RECORD
    TAKES_FROM_OTHER_SITES: ClassVar[tuple[str, ...]] = ("employees.Employee",)
    SEARCHED: ClassVar[tuple[str, ...]] = ("notes", "rating", "result")
    HISTORY_CHILDREN: ClassVar[tuple[str, ...]] = ("findings",)

    audit_program = models.ForeignKey(AuditProgram, models.PROTECT, related_name="records", db_index=False)
    record_status = LineField(
        "status", choices=RecordStatus.choices, default=RecordStatus.SCHEDULED, max_length=20, editable=False
    )
    date = models.DateTimeField("planned date", null=True, blank=True)
    due_date = models.DateTimeField(null=True, blank=True)
    is_extra = models.BooleanField(
        "extra audit",
        default=False,
        db_default=False,
        help_text=_("Besides the regular audits: the program's next due date does not depend on it."),
    )
    start_date = models.DateTimeField("started", null=True, blank=True)
    finish_date = models.DateTimeField("finished", null=True, blank=True)
    auditors = models.ManyToManyField("employees.Employee", blank=True, related_name="+")
    auditees = models.ManyToManyField("employees.Employee", blank=True, related_name="+")
    checklists = models.ManyToManyField("reference.Checklist", blank=True, related_name="+")
    rating_scale = models.ForeignKey("reference.Rating", models.PROTECT, null=True, blank=True, related_name="+")
    score = models.DecimalField(max_digits=5, decimal_places=2, null=True, blank=True, editable=False)
    rating = LineField(editable=False)
    result = LineField(editable=False)
    notes = FreeTextField()
    completed_date = models.DateTimeField("completed", null=True, blank=True, editable=False)
    completed_by = models.ForeignKey(
        "accounts.User", models.PROTECT, null=True, blank=True, editable=False, related_name="+", db_index=False
    )

    class Meta:
        ordering = ("site_sequence_id", "id")
        constraints = (
            *site_record_constraints("auditrecord"),
            models.CheckConstraint(
                condition=models.Q(score__isnull=True) | models.Q(score__range=(0, 100)),
                name="audit_score_from_0_to_100",
            ),
        )
        indexes = (
            models.Index(fields=("audit_program", "site_sequence_id"), name="auditrecord_of_program"),
            models.Index(fields=("site", "record_status", "due_date"), name="auditrecord_by_due_date"),
            models.Index(fields=("site", "last_modified"), name="auditrecord_by_last_modified"),
            models.Index(
                fields=("site", "finish_date", "id"),
                condition=models.Q(score__isnull=False),
                name="auditrecord_by_finish_date",
            ),
        )
        permissions = (
            ("complete_auditrecord", "Can complete audits"),
            ("archive_auditrecord", "Can archive and restore audits"),
        )
        verbose_name = "audit"

    def __str__(self) -> str:
        return audit_name(self.audit_program.name, self.site_sequence_id)

    @property
    def is_open(self) -> bool:
        """Return whether the audit is not finished yet."""
        return self.record_status in OPEN

    def clean(self) -> None:
        """Check that the audit does not end before it starts."""
        refuse_to_finish_before_the_start(self)


class Finding(ChildRow):
    """One question of an audit, with its response and a comment on what the auditor saw."""

    audit_record = models.ForeignKey(AuditRecord, models.CASCADE, related_name="findings", db_index=False)
    question = LineField(blank=False, max_length=QUESTION)
    rating_response = models.ForeignKey(
        "reference.RatingResponse", models.PROTECT, null=True, blank=True, related_name="+", verbose_name="response"
    )
    comment = FreeTextField()
    nonconformance = models.ForeignKey(
        "reference.Nonconformance", models.PROTECT, null=True, blank=True, related_name="+"
    )

    SEARCHED: ClassVar[tuple[str, ...]] = ("question", "comment")
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("audit_record",)

    class Meta(ChildRow.Meta):
        indexes = (models.Index(fields=("audit_record", "idx"), name="finding_of_audit"),)

    def __str__(self) -> str:
        return self.question
