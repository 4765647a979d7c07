"""The wire shapes of employees and job descriptions."""

from records.employees.models import EducationTraining, Employee, EmploymentHistory, JobDescription
from records.operations.serializers import STAMPS, ChildRows, IdList, WireSerializer


class EducationTrainingSerializer(WireSerializer):
    """One line of education or training; it has an Id if it is updated."""

    class Meta:
        model = EducationTraining
        fields = ("Id", "Title", "Institution", "Year", "Award", "EducationResultId")


class EmploymentHistorySerializer(WireSerializer):
    """One earlier employment; it has an Id if it is updated."""

    class Meta:
        model = EmploymentHistory
        fields = ("Id", "PositionHeld", "Company", "StartDate", "FinishDate")


class EmployeeSerializer(WireSerializer):
    """An employee, in the document's order; the read shape adds Id, number, job descriptions, account and stamps."""

    EducationTraining = ChildRows(EducationTrainingSerializer)
    EmploymentHistory = ChildRows(EmploymentHistorySerializer)
    JobDescription = IdList(JobDescription, source_name="job_descriptions", read_only=True)

    class Meta:
        model = Employee
        fields = (
            "Id",
            "SiteSequenceId",
            "TitleId",
            "FirstName",
            "LastName",
            "Code",
            "NatureOfEmploymentId",
            "Position",
            "Address",
            "Phone",
            "Mobile",
            "EmailAddress",
            "DateOfBirth",
            "NationalityId",
            "FirstLanguageId",
            "SecondLanguageId",
            "SecondLanguageProficiencyId",
            "CommencementDate",
            "ReportingToId",
            "Notes",
            "EntityFolderId",
            "EducationTraining",
            "EmploymentHistory",
            "JobDescription",
            "UserId",
            *STAMPS,
        )
        required = ("FirstName", "LastName", "NatureOfEmploymentId", "Position")
        read_only = ("UserId",)
        private = ("DateOfBirth", "Address", "Phone", "Mobile", "NationalityId", "Notes")
        private_permission = "employees.view_private_employee"


class EmployeeChangeSerializer(EmployeeSerializer):
    """The body of an update; LastName may be empty if provisioning has left it empty (DECISIONS 1.20)."""

    class Meta(EmployeeSerializer.Meta):
        may_be_blank = ("LastName",)


class JobDescriptionSerializer(WireSerializer):
    """A job description with the employees who hold it."""

    Employee = IdList(Employee, source_name="employees")

    class Meta:
        model = JobDescription
        fields = (
            "Id",
            "SiteSequenceId",
            "Name",
            "Code",
            "Department",
            "Purpose",
            "Responsibilities",
            "Authority",
            "Qualifications",
            "Experience",
            "ReportsToId",
            "DeputyId",
            "EffectiveDate",
            "ReviewDate",
            "DocumentId",
            "Employee",
            "EntityFolderId",
            *STAMPS,
        )
        required = ("Name",)
