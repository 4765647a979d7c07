"""The import and export of audit programs, and the export of audit records."""

from records.audits import actions
from records.audits.models import AuditProgram, AuditRecord
from records.audits.serializers import AuditProgramSerializer, AuditRecordSerializer
from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.operations.serializers import IdList
from records.operations.tables import WireTable


class ProgramRow(AuditProgramSerializer):
    """An audit program in a file, which can also set the lists and the frequency."""

    Auditor = IdList(source_name="auditors")
    Auditee = IdList(source_name="auditees")
    Procedure = IdList(source_name="procedures")
    Checklist = IdList(source_name="checklists")

    class Meta(AuditProgramSerializer.Meta):
        fields = (*AuditProgramSerializer.Meta.fields, "FrequencyMonths", "NextDueDate")  # type: ignore[assignment]
        required = ("Name", "Type")


class AuditRow(AuditRecordSerializer):
    """An audit in a file, which also says whether it is an extra one."""

    class Meta(AuditRecordSerializer.Meta):
        fields = (*AuditRecordSerializer.Meta.fields, "IsExtra")  # type: ignore[assignment]


@transferable
class AuditProgramResource(RecordResource):
    """Audit programs."""

    model = AuditProgram
    table = WireTable(ProgramRow)
    add_action = staticmethod(actions.add_audit_program)
    update_action = staticmethod(actions.update_audit_program)


@transferable
class AuditRecordResource(RecordResource):
    """The export of audits with their findings; audits are scheduled and filled in on their own pages."""

    model = AuditRecord
    table = WireTable(AuditRow)
    can_import = False
