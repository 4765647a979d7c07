"""The operations of the complaint endpoint. Start reading here."""

from records.complaints import examples
from records.complaints.models import RecordStatus
from records.complaints.serializers import ComplaintChangeSerializer, ComplaintSerializer
from records.complaints.views import ComplaintViewSet
from records.operations.operation import (
    MANAGER,
    READER,
    SITE_ADMINISTRATOR,
    STANDARD,
    Operation,
    Parameter,
    operation_urls,
    permits,
)
from records.operations.schema import WriteResult

permits("complaints.view_private_complaint", STANDARD)
permits("complaints.submit_complaint", STANDARD)
permits("complaints.complete_complaint", MANAGER)
permits("complaints.archive_complaint", MANAGER)
permits("complaints.erase_consumer", SITE_ADMINISTRATOR)
permits("complaints.view_unitssold", READER)
permits("complaints.add_unitssold", MANAGER)
permits("complaints.change_unitssold", MANAGER)

urlpatterns = operation_urls(
    ComplaintViewSet,
    Operation(
        method="POST",
        name="AddComplaintDetail",
        permission="complaints.add_complaint",
        role=STANDARD,
        request=ComplaintSerializer,
        response=WriteResult,
        examples=examples.ADD_COMPLAINT_DETAIL,
    ),
    Operation(
        method="GET",
        name="GetComplaint",
        permission="complaints.view_complaint",
        role=READER,
        takes_id=True,
        response=ComplaintSerializer,
        examples=examples.GET_COMPLAINT,
    ),
    Operation(
        method="GET",
        name="GetComplaintList",
        permission="complaints.view_complaint",
        role=READER,
        many=True,
        response=ComplaintSerializer,
        parameters=(
            Parameter("recordStatus", "choice", choices=RecordStatus.values),
            Parameter("customerId", "id"),
            Parameter("productId", "id"),
            Parameter("nonconformanceId", "id"),
            Parameter("brandId", "id"),
            Parameter("productionUnitId", "id"),
            Parameter("sourceId", "id"),
            Parameter("traceNumber", lookup="trace_number_key"),
            Parameter("dateFrom", "date-time", "date__gte", "Dated at or after this moment."),
            Parameter("dateTo", "date-time", "date__lte", "Dated at or before this moment."),
        ),
        examples=examples.GET_COMPLAINT_LIST,
    ),
    Operation(
        method="PUT",
        name="UpdateComplaintDetail",
        permission="complaints.change_complaint",
        role=STANDARD,
        takes_id=True,
        request=ComplaintChangeSerializer,
        response=WriteResult,
        examples=examples.UPDATE_COMPLAINT_DETAIL,
    ),
)
