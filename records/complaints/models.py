"""Complaints, and the rules that apply to them in each status."""

import datetime
import uuid
import zoneinfo
from collections.abc import Mapping
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import dateformat
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.history.trail import now
from records.history.visibility import NOBODY, READER, STANDARD
from records.reference.folding import FoldedField
from records.sites.models import Entity, Site, SiteRecord, SiteRows, site_record_constraints
from records.sites.text import EMAIL, FreeTextField, LineField, is_blank


class RecordStatus(models.TextChoices):
    """The status of a complaint (DECISIONS 5)."""

    DRAFT = "Draft", _("Draft")
    AWAITING_REVIEW = "Awaiting Review", _("Awaiting Review")
    COMPLETED = "Completed", _("Completed")


class Severity(models.TextChoices):
    """How serious a complaint is (DECISIONS 12.3)."""

    MINOR = "Minor", _("Minor")
    MAJOR = "Major", _("Major")
    CRITICAL = "Critical", _("Critical")


HANDLING = ("owner", "severity", "target_date", "cause", "correction", "answered_on")
"""Fields for the handling by staff: the back-office shows them and the feed names them; JSON does not include them."""

ABOUT_CONSUMER = (
    "consumer_salutation",
    "consumer_first_name",
    "consumer_last_name",
    "consumer_address",
    "consumer_purchased",
    "consumer_phone",
    "consumer_mobile",
    "consumer_email",
)
"""What is known of the consumer, as it is shown and printed."""
CONSUMER = tuple(name for name in ABOUT_CONSUMER if name not in ("consumer_salutation", "consumer_purchased"))
"""The fields that identify the consumer, which users below Standard cannot see (DECISIONS 9.11)."""

REQUIRED = ("customer", "product", "nonconformance")
"""The fields that every complaint except a draft must have."""

MOST_UNITS = 10**12 - 1
"""The most units of a month; an import reads whole numbers up to here."""


def _points_at(relation: str, *, always: bool = False) -> models.Index:
    """Return the index that lists the complaints of a customer, product or other target in their order."""
    condition = None if always else Q(**{f"{relation}__isnull": False})
    return models.Index(fields=(relation, "site_sequence_id"), condition=condition, name=f"complaint_of_{relation}")


class Complaint(SiteRecord):
    """What a customer or consumer complained about, which product it was, and what the review found.

    A draft exists in the back-office only: it does not have a number, and no other interface shows it.
    """

    ENTITY = Entity.COMPLAINT
    SEARCHED: ClassVar[tuple[str, ...]] = (
        "trace_number_key",
        "consumer_last_name",
        "complaint_description",
        "correction",
        "review_report",
        "source_details",
        "sample_details",
        "consumer_purchased",
    )
    ATTACHMENTS_SEEN_WITH = "complaints.view_private_complaint"
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = (*SiteRecord.HISTORY_EXCLUDE, "trace_number_key")
    HISTORY_PRIVATE: ClassVar[Mapping[str, str]] = dict.fromkeys(CONSUMER, STANDARD)

    record_status = models.CharField(
        "status", max_length=20, choices=RecordStatus.choices, default=RecordStatus.AWAITING_REVIEW, editable=False
    )
    date = models.DateTimeField(null=True, blank=True)
    # The indexes below begin with these columns, so separate indexes for the foreign keys would be redundant.
    customer = models.ForeignKey(
        "customers.Customer", models.PROTECT, null=True, blank=True, related_name="complaints", db_index=False
    )
    source = models.ForeignKey(
        "reference.ComplaintSource", models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    source_details = FreeTextField()
    method = models.ForeignKey(
        "reference.ComplaintMethod", models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    sample_details = FreeTextField()
    consumer_salutation = models.ForeignKey(
        "reference.Title", models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    consumer_first_name = LineField()
    consumer_last_name = LineField()
    consumer_address = FreeTextField()
    consumer_purchased = FreeTextField("place of purchase")
    consumer_phone = LineField()
    consumer_mobile = LineField()
    consumer_email = models.EmailField("consumer e-mail", max_length=EMAIL, blank=True)
    product = models.ForeignKey(
        "reference.Product", models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    quantity = models.DecimalField(
        max_digits=15, decimal_places=4, null=True, blank=True, validators=[MinValueValidator(0)]
    )
    manufacture_date = models.DateTimeField(null=True, blank=True)
    expiration_date = models.DateTimeField(null=True, blank=True)
    trace_number = LineField()
    trace_number_key = FoldedField("trace_number")
    brand = models.ForeignKey(
        "reference.Brand", models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    production_unit = models.ForeignKey(
        "reference.ProductionUnit", models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    nonconformance = models.ForeignKey(
        "reference.Nonconformance", models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    complaint_description = FreeTextField("description")
    review_report = FreeTextField()
    owner = models.ForeignKey("accounts.User", models.PROTECT, null=True, blank=True, related_name="+", db_index=False)
    severity = models.CharField(max_length=10, choices=Severity.choices, blank=True, default="", db_default="")
    target_date = models.DateTimeField(
        null=True, blank=True, help_text=_("The day by which the complaint has to be answered.")
    )
    cause = models.ForeignKey(
        "reference.Cause", models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    correction = FreeTextField(db_default="", help_text=_("What was done at once to correct the fault."))
    answered_on = models.DateTimeField(
        null=True, blank=True, help_text=_("The day on which the complaint was answered.")
    )

    class Meta:
        ordering = ("site_sequence_id", "id")
        constraints = (
            *site_record_constraints("complaint"),
            models.CheckConstraint(
                condition=Q(record_status=RecordStatus.DRAFT, site_sequence_id__isnull=True)
                | (~Q(record_status=RecordStatus.DRAFT) & Q(site_sequence_id__isnull=False)),
                name="only_a_draft_complaint_has_no_number",
            ),
            models.CheckConstraint(
                condition=Q(record_status=RecordStatus.DRAFT)
                | Q(customer__isnull=False, product__isnull=False, nonconformance__isnull=False),
                name="only_a_draft_complaint_lacks_what_is_required",
            ),
        )
        indexes = (
            models.Index(fields=("site", "record_status", "site_sequence_id"), name="complaint_by_status"),
            models.Index(fields=("site", "date", "id"), name="complaint_by_date"),
            models.Index(fields=("site", "last_modified", "id"), name="complaint_by_last_modified"),
            # The start page counts complaints by month and by target from this index alone, without reading rows. For
            # this, SQLite also needs the columns of the condition.
            models.Index(
                fields=(
                    "site",
                    "date",
                    "nonconformance",
                    "product",
                    "customer",
                    "is_archived",
                    "site_sequence_id",
                ),
                condition=Q(is_archived=False, site_sequence_id__isnull=False),
                name="complaint_for_charts",
            ),
            models.Index(
                fields=("site", "trace_number_key"),
                opclasses=["uuid_ops", "varchar_pattern_ops"],
                name="complaint_by_trace_number",
            ),
            models.Index(fields=("owner", "target_date"), condition=Q(owner__isnull=False), name="complaint_of_owner"),
            models.Index(
                fields=("site", "target_date", "id"),
                condition=Q(target_date__isnull=False),
                name="complaint_by_target_date",
            ),
            # Response times and causes are also counted from these indexes alone, without reading rows.
            models.Index(
                fields=("site", "answered_on", "date", "target_date", "is_archived", "site_sequence_id"),
                condition=Q(answered_on__isnull=False),
                name="complaint_by_answer",
            ),
            models.Index(
                fields=("site", "date", "cause", "is_archived", "site_sequence_id"),
                condition=Q(cause__isnull=False, is_archived=False, site_sequence_id__isnull=False),
                name="complaint_by_date_and_cause",
            ),
            _points_at("cause"),
            _points_at("customer", always=True),
            _points_at("product", always=True),
            _points_at("nonconformance", always=True),
            _points_at("brand"),
            _points_at("production_unit"),
            _points_at("source"),
            _points_at("method"),
        )
        permissions = (
            ("view_private_complaint", "Can see what is private to consumers"),
            ("submit_complaint", "Can submit draft complaints"),
            ("complete_complaint", "Can complete and reopen complaints, and change completed ones"),
            ("archive_complaint", "Can archive and restore complaints"),
            ("erase_consumer", "Can erase who a consumer is"),
        )

    def __str__(self) -> str:
        number = (
            gettext("Complaint %(number)s") % {"number": self.site_sequence_id}
            if self.site_sequence_id is not None
            else gettext("Draft complaint")
        )
        return f"{number}: {self.trace_number}" if self.trace_number else number

    def record_role(self) -> str:
        """Return the lowest default role that sees the complaint; only the back-office shows a draft."""
        return NOBODY if self.is_draft else READER

    @property
    def is_draft(self) -> bool:
        """Return whether the complaint has not been submitted yet."""
        return self.record_status == RecordStatus.DRAFT

    @property
    def is_completed(self) -> bool:
        """Return whether the complaint's review is closed."""
        return self.record_status == RecordStatus.COMPLETED

    @property
    def waits_for_answer(self) -> bool:
        """Return whether the complaint can be overdue: its review is not closed, and it has not been answered yet."""
        return self.record_status == RecordStatus.AWAITING_REVIEW and self.answered_on is None and not self.is_archived

    def attachments_role(self) -> str:
        """Return the lowest default role that sees the complaint's attachments, which may identify a consumer."""
        return NOBODY if self.is_draft else STANDARD

    def permission_to_change(self) -> str:
        """Return the permission that is needed to change the complaint; only Managers may change a completed one."""
        return "complaints.complete_complaint" if self.is_completed else super().permission_to_change()

    def clean(self) -> None:
        """Check the rules of the complaint's status and the rules across fields (DECISIONS 1.11, 5)."""
        faults = {}
        if not self.is_draft:
            faults = {
                name: ValidationError(gettext("This field is required."), code="RequiredField")
                for name in REQUIRED
                if getattr(self, f"{name}_id") is None
            }
        if self.is_completed and is_blank(self.review_report):
            text = gettext("A completed complaint needs a review report.")
            faults["review_report"] = ValidationError(text, code="RequiredField")
        if self.manufacture_date and self.expiration_date and self.expiration_date < self.manufacture_date:
            text = gettext("The expiration date is before the manufacture date.")
            faults["expiration_date"] = ValidationError(text, code="InvalidValue")
        if fault := self._fault_of_answer():
            faults["answered_on"] = ValidationError(fault, code="InvalidValue")
        if faults:
            raise ValidationError(faults)

    def _fault_of_answer(self) -> str:
        """Return why the day of the answer cannot be right, or an empty text if it can."""
        if self.answered_on is None:
            return ""
        zone, day = zoneinfo.ZoneInfo(self.site.time_zone), self.answered_on.astimezone(datetime.UTC).date()
        if day > now().astimezone(zone).date():
            return gettext("The date of the answer is in the future.")
        date = self.date and self.date.astimezone(datetime.UTC)
        if date and day < (date if date.time() == datetime.time() else date.astimezone(zone)).date():
            return gettext("The date of the answer is before the date of the complaint.")
        return ""


class UnitsSold(models.Model):
    """The number of units that a site sold in one month, with which its complaints are compared."""

    HISTORY_PROVES_ROWS: ClassVar[bool] = True
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("site", "created", "last_modified")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The constraint below has an index that starts with the site, so the foreign key needs none.
    site = models.ForeignKey(Site, models.PROTECT, related_name="+", db_index=False)
    month = models.DateTimeField(help_text=_("Any day of the month; the first day of the month is kept."))
    units = models.PositiveBigIntegerField(
        "units sold", validators=[MinValueValidator(1), MaxValueValidator(MOST_UNITS)]
    )
    is_archived = models.BooleanField("archived", default=False, editable=False)
    created = models.DateTimeField(default=now, editable=False)
    last_modified = models.DateTimeField(default=now, editable=False)

    objects = SiteRows.as_manager()

    class Meta:
        ordering = ("-month", "id")
        verbose_name = "units sold"
        verbose_name_plural = "months of units sold"
        constraints = (
            models.UniqueConstraint(
                fields=("site", "month"),
                name="units_sold_once_a_month",
                violation_error_code="Duplicate",
                violation_error_message=_(
                    "The units of this month are entered already. Change that entry, or restore it"
                    " where it is archived."
                ),
            ),
            models.CheckConstraint(condition=Q(units__gt=0), name="units_sold_are_more_than_none"),
        )

    def __str__(self) -> str:
        return dateformat.format(self.month.astimezone(datetime.UTC), "F Y")

    def clean(self) -> None:
        """Keep the first day of the month, at midnight UTC as every day is kept."""
        if self.month is not None:
            day = self.month.astimezone(datetime.UTC)
            self.month = datetime.datetime(day.year, day.month, 1, tzinfo=datetime.UTC)
