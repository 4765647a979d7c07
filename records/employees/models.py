"""Employees with their education and employment history, and the job descriptions that they hold."""

import datetime
import uuid
from collections.abc import Mapping
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Upper
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.history.trail import now
from records.history.visibility import MANAGER
from records.sites.checking import refuse_to_finish_before_the_start
from records.sites.models import ChildRow, Entity, SiteRecord, site_record_constraints
from records.sites.months import months_after
from records.sites.text import EMAIL, FreeTextField, LineField, fault_at


class Employee(SiteRecord):
    """A person who works here, as an employee or through an agency. If they have an account, it has the same Id."""

    ENTITY = Entity.EMPLOYEE
    ATTACHMENTS_SEEN_WITH = "employees.view_private_employee"
    SEARCHED: ClassVar[tuple[str, ...]] = ("last_name", "first_name", "code", "position")
    HISTORY_CHILDREN: ClassVar[tuple[str, ...]] = ("education_training", "employment_history")
    TAKES_FROM_OTHER_SITES: ClassVar[tuple[str, ...]] = ("employees.Employee",)
    HISTORY_STAMPED_WITH = ("employees.JobDescription", "employees")
    """The kind of record, and its list, whose changes stamp these too."""
    HISTORY_SHARES_ID = "accounts.User"
    """The other kind whose records have the Ids of these on purpose."""
    HISTORY_PRIVATE: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("date_of_birth", "address", "phone", "mobile", "nationality", "notes"), MANAGER
    )

    user = models.OneToOneField(
        "accounts.User", models.PROTECT, null=True, blank=True, editable=False, related_name="employee"
    )
    title = models.ForeignKey("reference.Title", models.PROTECT, null=True, blank=True, related_name="+")
    first_name = LineField(blank=False)
    last_name = LineField()
    code = LineField("employee code")
    nature_of_employment = models.ForeignKey(
        "reference.NatureOfEmployment", models.PROTECT, verbose_name="type of employment", related_name="+"
    )
    position = LineField(blank=False)
    address = FreeTextField()
    phone = LineField()
    mobile = LineField()
    email_address = models.EmailField("e-mail address", max_length=EMAIL, blank=True)
    date_of_birth = models.DateTimeField(null=True, blank=True)
    nationality = models.ForeignKey("reference.Nationality", models.PROTECT, null=True, blank=True, related_name="+")
    first_language = models.ForeignKey("reference.Language", models.PROTECT, null=True, blank=True, related_name="+")
    second_language = models.ForeignKey("reference.Language", models.PROTECT, null=True, blank=True, related_name="+")
    second_language_proficiency = models.ForeignKey(
        "reference.LanguageProficiency", models.PROTECT, null=True, blank=True, related_name="+"
    )
    commencement_date = models.DateTimeField(null=True, blank=True)
    reporting_to = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="reports")
    notes = FreeTextField()

    class Meta:
        ordering = ("site_sequence_id", "id")
        constraints = (
            *site_record_constraints("employee"),
            models.CheckConstraint(
                condition=Q(user__isnull=True) | Q(user_id=F("id")), name="employee_and_account_share_an_id"
            ),
        )
        indexes = (
            models.Index(fields=("site", "last_name", "first_name"), name="employee_by_name"),
            models.Index(fields=("site", "code"), name="employee_by_code"),
            models.Index(fields=("site", "last_modified"), name="employee_by_last_modified"),
            # Text filters of lists compare in any case, on PostgreSQL under UPPER.
            models.Index(F("site"), Upper("code"), name="employee_by_code_any_case"),
            models.Index(F("site"), Upper("email_address"), name="employee_by_email_any_case"),
        )
        permissions = (
            ("view_private_employee", "Can see private employee fields"),
            ("archive_employee", "Can archive and restore employees"),
            ("erase_private_employee", "Can erase private facts of employees who left"),
        )

    def __str__(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()

    def attachments_role(self) -> str:
        """Return the lowest default role that sees the employee's attachments, which are private."""
        return MANAGER

    def clean(self) -> None:
        """Check that the date of birth is not in the future (DECISIONS 1.11); the action checks the superior."""
        if self.date_of_birth is not None and self.date_of_birth > now():
            raise fault_at("date_of_birth", gettext("The date of birth is in the future."), "InvalidValue")


class Course(models.Model):
    """A course that a site's people take, and the number of months for which it is valid (DECISIONS 13.25)."""

    HISTORY_PROVES_ROWS: ClassVar[bool] = True
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("site", "created", "last_modified")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey("sites.Site", models.PROTECT, related_name="+", editable=False)
    name = LineField(blank=False)
    months_of_validity = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(1200)],
        help_text=_("After this many months the course has to be taken again. Leave empty if it never expires."),
    )
    is_archived = models.BooleanField("archived", default=False, editable=False)
    created = models.DateTimeField(default=now, editable=False)
    last_modified = models.DateTimeField(default=now, editable=False)

    class Meta:
        ordering = ("name", "id")
        constraints = (
            models.UniqueConstraint(
                Lower("name"),
                "site",
                condition=Q(is_archived=False),
                name="course_name_once_per_site",
                violation_error_message=_("The site already has an active course with this name."),
            ),
        )

    def __str__(self) -> str:
        return self.name

    def expires(self, completed_on: datetime.datetime) -> datetime.date | None:
        """Return the last day on which a course completed on this day is valid; None if it is valid for ever."""
        if self.months_of_validity is None:
            return None
        return months_after(completed_on.astimezone(datetime.UTC).date(), self.months_of_validity)


class EducationTraining(ChildRow):
    """One line of an employee's education and training; if it names a course, it expires as the course says."""

    employee = models.ForeignKey(Employee, models.CASCADE, related_name="education_training", db_index=False)
    title = LineField()
    institution = LineField()
    year = LineField()
    award = LineField()
    education_result = models.ForeignKey(
        "reference.EducationResult", models.PROTECT, null=True, blank=True, related_name="+"
    )
    course = models.ForeignKey(Course, models.PROTECT, null=True, blank=True, related_name="+")
    completed_on = models.DateTimeField(
        null=True, blank=True, help_text=_("The day on which the course was completed; its validity begins then.")
    )

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("employee",)

    class Meta(ChildRow.Meta):
        verbose_name = "education or training"
        verbose_name_plural = "education and training"
        indexes = (models.Index(fields=("employee", "idx"), name="education_of_employee"),)

    def __str__(self) -> str:
        return self.title

    def clean(self) -> None:
        """Check that a course has the day on which it was completed, and that the day is not in the future."""
        if self.course_id is not None and self.completed_on is None:
            raise fault_at("completed_on", gettext("Say on which day the course was completed."), "RequiredField")
        if self.completed_on is not None and self.completed_on > now() + datetime.timedelta(days=1):
            raise fault_at("completed_on", gettext("The day is in the future."), "InvalidValue")


class EmploymentHistory(ChildRow):
    """One earlier employment of an employee."""

    employee = models.ForeignKey(Employee, models.CASCADE, related_name="employment_history", db_index=False)
    position_held = LineField()
    company = LineField()
    start_date = models.DateTimeField(null=True, blank=True)
    finish_date = models.DateTimeField(null=True, blank=True)

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("employee",)

    class Meta(ChildRow.Meta):
        verbose_name = "earlier employment"
        verbose_name_plural = "employment history"
        indexes = (models.Index(fields=("employee", "idx"), name="employment_of_employee"),)

    def __str__(self) -> str:
        return f"{self.position_held}, {self.company}".strip(", ")

    def clean(self) -> None:
        """Check that the employment does not end before it starts (DECISIONS 1.11)."""
        refuse_to_finish_before_the_start(self)


class JobDescription(SiteRecord):
    """A job: its tasks and requirements, the job that it reports to, and the employees who hold it."""

    ENTITY = Entity.JOB_DESCRIPTION
    SEARCHED: ClassVar[tuple[str, ...]] = (
        "name",
        "code",
        "department",
        "purpose",
        "responsibilities",
        "authority",
        "qualifications",
        "experience",
    )

    name = LineField(blank=False)
    code = LineField()
    department = LineField()
    purpose = FreeTextField()
    responsibilities = FreeTextField()
    authority = FreeTextField()
    qualifications = FreeTextField()
    experience = FreeTextField()
    reports_to = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="+")
    deputy = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="+")
    effective_date = models.DateTimeField(null=True, blank=True)
    review_date = models.DateTimeField(null=True, blank=True)
    document = models.ForeignKey("documents.Document", models.PROTECT, null=True, blank=True, related_name="+")
    employees = models.ManyToManyField(Employee, blank=True, related_name="job_descriptions")
    required_courses = models.ManyToManyField(Course, blank=True, related_name="+")
    required_documents = models.ManyToManyField("documents.Document", blank=True, related_name="+")

    class Meta:
        ordering = ("site_sequence_id", "id")
        constraints = site_record_constraints("jobdescription")
        indexes = (models.Index(fields=("site", "name"), name="jobdescription_by_name"),)
        permissions = (("archive_jobdescription", "Can archive and restore job descriptions"),)

    def clean(self) -> None:
        """Check that the job is neither its own superior nor its own deputy."""
        faults = {
            name: ValidationError(gettext("A job description cannot refer to itself."), code="InvalidReference")
            for name in ("reports_to", "deputy")
            if getattr(self, f"{name}_id") == self.pk
        }
        if faults:
            raise ValidationError(faults)
