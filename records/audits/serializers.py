"""The JSON shapes of audit programs and audit records, which are read-only."""

from records.audits.models import AuditProgram, AuditRecord, Finding
from records.operations.fields import IdField, NumberField
from records.operations.serializers import STAMPS, ChildRows, IdList, WireSerializer


class AuditProgramSerializer(WireSerializer):
    """An audit program with exactly the documented fields."""

    Auditor = IdList(source_name="auditors", read_only=True, required=None)
    Auditee = IdList(source_name="auditees", read_only=True, required=None)
    Procedure = IdList(source_name="procedures", read_only=True, required=None)
    Checklist = IdList(source_name="checklists", read_only=True, required=None)

    class Meta:
        model = AuditProgram
        fields = (
            "Id",
            "SiteSequenceId",
            "Name",
            "Type",
            "Department",
            "Risk",
            "Auditor",
            "Auditee",
            "Procedure",
            "Checklist",
            "RatingId",
            "RatingResponseId",
            *STAMPS,
        )


class FindingSerializer(WireSerializer):
    """One question of an audit with its response."""

    class Meta:
        model = Finding
        fields = ("Id", "Question", "RatingResponseId", "Comment", "NonconformanceId")


class AuditRecordSerializer(WireSerializer):
    """One audit of a program with its findings and its evaluation.

    `Score` is null, and `Rating` and `Result` are empty, until the audit is Awaiting Review or Completed.
    """

    Auditor = IdList(source_name="auditors", read_only=True, required=None)
    Auditee = IdList(source_name="auditees", read_only=True, required=None)
    Checklist = IdList(source_name="checklists", read_only=True, required=None)
    RatingId = IdField(source_name="rating_scale", read_only=True, allow_null=True)
    Score = NumberField(read_only=True, max_digits=5, decimal_places=2, lowest=0, highest=100)
    Finding = ChildRows(FindingSerializer, source_name="findings", read_only=True, required=None)

    class Meta:
        model = AuditRecord
        fields = (
            "Id",
            "SiteSequenceId",
            "AuditProgramId",
            "RecordStatus",
            "Date",
            "StartDate",
            "FinishDate",
            "DueDate",
            "Auditor",
            "Auditee",
            "Checklist",
            "RatingId",
            "Score",
            "Rating",
            "Result",
            "Finding",
            "Notes",
            "CompletedDate",
            "CompletedBy",
            *STAMPS,
        )
