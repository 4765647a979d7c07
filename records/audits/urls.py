"""The operations of the audit endpoint. Start reading here."""

from records.audits import examples
from records.audits.models import ProgramType, RecordStatus, Risk
from records.audits.serializers import AuditProgramSerializer, AuditRecordSerializer
from records.audits.views import AuditViewSet
from records.operations.operation import MANAGER, Parameter, lists, operation_urls, permits, reads

permits("audits.add_auditprogram", MANAGER)
permits("audits.change_auditprogram", MANAGER)
permits("audits.archive_auditprogram", MANAGER)
permits("audits.add_auditrecord", MANAGER)
permits("audits.change_auditrecord", MANAGER)
permits("audits.complete_auditrecord", MANAGER)
permits("audits.archive_auditrecord", MANAGER)

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
