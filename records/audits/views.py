"""The audit endpoint, which reads programs and the audit records of a program; audits are done in the back-office."""

import uuid

from django.db.models import Q
from django.http import HttpResponse
from rest_framework.request import Request

from records.audits.models import AuditProgram
from records.audits.serializers import AuditProgramSerializer, AuditRecordSerializer
from records.operations.errors import not_found
from records.operations.lists import ListRules
from records.operations.viewsets import OperationViewSet

PROGRAMS = ListRules(search=("name", "department"))
RECORDS = ListRules(search=("notes", "rating", "result"))


class AuditViewSet(OperationViewSet):
    """Audit programs and audit records at the caller's site."""

    def get_audit_program(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one audit program."""
        return self.record(AuditProgramSerializer, id)

    def get_audit_program_list(self, request: Request) -> HttpResponse:
        """List the site's audit programs."""
        return self.listing(AuditProgramSerializer, PROGRAMS)

    def get_audit_program_record_list(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """List the audit records of one audit program, whose Id is in the path."""
        response = self.listing(AuditRecordSerializer, RECORDS, condition=Q(audit_program_id=id))
        is_empty = response["X-Total-Count"] == "0"
        if is_empty and not AuditProgram.objects.at(self.site_id).filter(pk=id).exists():
            raise not_found()
        return response
