"""The complaint endpoint. Reads are handled here; writes call the actions."""

import uuid
from typing import Any

from django.db import models
from django.http import HttpResponse
from rest_framework.request import Request

from records.complaints import actions
from records.complaints.serializers import ComplaintChangeSerializer, ComplaintSerializer
from records.operations.lists import ListRules
from records.operations.viewsets import OperationViewSet

COMPLAINTS = ListRules(search=("trace_number_key", "consumer_last_name", "complaint_description"))


class ComplaintViewSet(OperationViewSet):
    """Complaints at the caller's site. Drafts do not exist for this interface."""

    def records(self, model: type[models.Model]) -> models.QuerySet[Any]:
        """Return the submitted complaints, which are those with a number."""
        return super().records(model).filter(site_sequence_id__isnull=False)

    def add_complaint_detail(self, request: Request) -> HttpResponse:
        """Add a complaint, which then awaits its review; without a Date it gets the present time."""
        return self.add_record(ComplaintSerializer, actions.add_complaint_detail)

    def update_complaint_detail(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Change a complaint; its status stays the same. Only Managers can change a completed one (409 for others)."""
        may_change_completed = self.caller.may("complaints.complete_complaint")
        return self.update_record(
            ComplaintChangeSerializer, actions.update_complaint_detail, id, may_change_completed=may_change_completed
        )

    def get_complaint(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one complaint."""
        return self.record(ComplaintSerializer, id)

    def get_complaint_list(self, request: Request) -> HttpResponse:
        """List the site's complaints."""
        return self.listing(ComplaintSerializer, COMPLAINTS)
