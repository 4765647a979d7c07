"""The operations of the audit endpoint. Start reading here."""

from records.audits import examples
from records.audits.models import ProgramType, RecordStatus, Risk
from records.audits.serializers import AuditProgramSerializer, AuditRecordSerializer
from records.audits.views import AuditViewSet
from records.operations.operation import MANAGER, Parameter, declare_permission, lists, operation_urls, reads

declare_permission("audits.add_auditprogram", MANAGER)
declare_permission("audits.change_auditprogram", MANAGER)
declare_permission("audits.archive_auditprogram", MANAGER)
declare_permission("audits.add_auditrecord", MANAGER)
declare_permission("audits.change_auditrecord", MANAGER)
declare_permission("audits.complete_auditrecord", MANAGER)
declare_permission("audits.archive_auditrecord", MANAGER)

urlpatterns = operation_urls(
    AuditViewSet,
    reads("GetAuditProgram", AuditProgramSerializer, examples.GET_AUDIT_PROGRAM),
    lists(
        "GetAuditProgramList",
        AuditProgramSerializer,
        examples.GET_AUDIT_PROGRAM_LIST,
        Parameter("type", "choice", choices=ProgramType.values),
        Parameter("risk", "choice", choices=Risk.values),
        Parameter("department"),
        Parameter("auditorId", "id", "auditors", "An employee who audits in the program."),
    ),
    lists(
        "GetAuditProgramRecordList",
        AuditRecordSerializer,
        examples.GET_AUDIT_PROGRAM_RECORD_LIST,
        Parameter("recordStatus", "choice", choices=RecordStatus.values),
        Parameter("dateFrom", "date-time", "date__gte", "Planned at or after this moment."),
        Parameter("dateTo", "date-time", "date__lte", "Planned at or before this moment."),
        takes_id=True,
    ),
)
