"""The operations of the audit endpoint. Start reading here."""

from records.audits import examples
from records.audits.models import ProgramType, RecordStatus, Risk
from records.audits.serializers import AuditProgramSerializer, AuditRecordSerializer
from records.audits.views import AuditViewSet
from records.operations.operation import MANAGER, READER, Operation, Parameter, operation_urls, permits

permits("audits.add_auditprogram", MANAGER)
permits("audits.change_auditprogram", MANAGER)
permits("audits.archive_auditprogram", MANAGER)
permits("audits.add_auditrecord", MANAGER)
permits("audits.change_auditrecord", MANAGER)
permits("audits.complete_auditrecord", MANAGER)
permits("audits.archive_auditrecord", MANAGER)

urlpatterns = operation_urls(
    AuditViewSet,
    Operation(
        method="GET",
        name="GetAuditProgram",
        permission="audits.view_auditprogram",
        role=READER,
        takes_id=True,
        response=AuditProgramSerializer,
        examples=examples.GET_AUDIT_PROGRAM,
    ),
    Operation(
        method="GET",
        name="GetAuditProgramList",
        permission="audits.view_auditprogram",
        role=READER,
        many=True,
        response=AuditProgramSerializer,
        parameters=(
            Parameter("type", "choice", choices=ProgramType.values),
            Parameter("risk", "choice", choices=Risk.values),
            Parameter("department"),
            Parameter("auditorId", "id", "auditors", "An employee who audits in the program."),
        ),
        examples=examples.GET_AUDIT_PROGRAM_LIST,
    ),
    Operation(
        method="GET",
        name="GetAuditProgramRecordList",
        permission="audits.view_auditrecord",
        role=READER,
        takes_id=True,
        many=True,
        response=AuditRecordSerializer,
        parameters=(
            Parameter("recordStatus", "choice", choices=RecordStatus.values),
            Parameter("dateFrom", "date-time", "date__gte", "Planned at or after this moment."),
            Parameter("dateTo", "date-time", "date__lte", "Planned at or before this moment."),
        ),
        examples=examples.GET_AUDIT_PROGRAM_RECORD_LIST,
    ),
)
