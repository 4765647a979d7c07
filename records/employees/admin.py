"""The back-office pages of employees and job descriptions."""

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.backoffice import extension_points
from records.backoffice.choice_filters import ArchivedFilter
from records.backoffice.date_filters import DaysFilter
from records.backoffice.extension_points import RecordLink
from records.backoffice.filter_bar import ReferenceFilter
from records.backoffice.inlines import RowsStacked
from records.backoffice.plain_records import PlainAdmin
from records.backoffice.records import RecordAdmin
from records.backoffice.transitions import ARCHIVE, RESTORE
from records.employees import actions
from records.employees.models import Course, EducationTraining, Employee, EmploymentHistory, JobDescription
from records.employees.transitions import ERASE, GIVE_ACCOUNT


class EducationRows(RowsStacked):
    """The lines of education and training on an employee's page."""

    model = EducationTraining


class EmploymentRows(RowsStacked):
    """The earlier employments on an employee's page."""

    model = EmploymentHistory


@admin.register(Employee)
class EmployeeAdmin(RecordAdmin):
    """Employees. Private fields are shown only to people whose roles allow it."""

    record_actions = (GIVE_ACCOUNT, ARCHIVE, RESTORE, ERASE)
    add_action = staticmethod(actions.add_employee)
    update_action = staticmethod(actions.update_employee)
    archive_action = staticmethod(actions.archive_employee)
    private_fields = ("date_of_birth", "address", "phone", "mobile", "nationality", "notes")
    private_permission = "employees.view_private_employee"
    inlines = (EducationRows, EmploymentRows)
    list_filter = (
        ArchivedFilter,
        ("nature_of_employment", ReferenceFilter),
        ("reporting_to", ReferenceFilter),
        ("entity_folder", ReferenceFilter),
    )
    list_display = ("site_sequence_id", "first_name", "last_name", "code", "position", "nature_of_employment")
    list_display_links = ("site_sequence_id", "first_name", "last_name")
    search_fields = (*Employee.SEARCHED, "nature_of_employment__name_key")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "title",
                    "first_name",
                    "last_name",
                    "code",
                    "nature_of_employment",
                    "position",
                    "reporting_to",
                )
            },
        ),
        (_("Employment"), {"fields": ("commencement_date", "entity_folder")}),
        (_("Contact details"), {"fields": ("email_address", "phone", "mobile", "address")}),
        (
            _("Person"),
            {
                "fields": (
                    "date_of_birth",
                    "nationality",
                    "first_language",
                    "second_language",
                    "second_language_proficiency",
                    "notes",
                )
            },
        ),
    )


REQUIRED_HELP = _(
    "A document counts once its version in force is read. Only members of the roles under “Must be read by” on the "
    "document are asked to read it."
)


@admin.register(JobDescription)
class JobDescriptionAdmin(RecordAdmin):
    """Job descriptions, with the employees who hold them."""

    add_action = staticmethod(actions.add_job_description)
    update_action = staticmethod(actions.update_job_description)
    suggestions = {"department": "Department"}
    list_display = ("site_sequence_id", "name", "code", "department", "review_date")
    list_display_links = ("site_sequence_id", "name")
    list_filter = (ArchivedFilter, ("review_date", DaysFilter), ("entity_folder", ReferenceFilter))
    search_fields = JobDescription.SEARCHED
    fieldsets = (
        (None, {"fields": ("name", "code", "department", "reports_to", "deputy", "employees", "entity_folder")}),
        (_("Content"), {"fields": ("purpose", "responsibilities", "authority", "qualifications", "experience")}),
        (
            _("What its holders must have"),
            {"fields": ("required_courses", "required_documents"), "description": REQUIRED_HELP},
        ),
        (_("Validity"), {"fields": ("effective_date", "review_date", "document")}),
    )


@admin.register(Course)
class CourseAdmin(PlainAdmin):
    """The courses that people of the site take."""

    list_display = ("name", "months_of_validity")
    fieldsets = ((None, {"fields": ("name", "months_of_validity")}),)


def account_links(request: HttpRequest, record: object) -> list[RecordLink]:
    """Return the button that leads from an employee to the account, for users who manage the site's accounts."""
    if not isinstance(record, Employee) or record.user_id is None:
        return []
    if not access.may(request.user, record.site_id, "accounts.change_user"):
        return []
    return [
        RecordLink("account", gettext("Account"), reverse("admin:accounts_user_read", args=(quote(record.user_id),)))
    ]


extension_points.record_links.append(account_links)
