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
    Parameter,
    adds,
    declare_permission,
    lists,
    operation_urls,
    reads,
    updates,
)

declare_permission("complaints.view_private_complaint", STANDARD)
declare_permission("complaints.submit_complaint", STANDARD)
declare_permission("complaints.complete_complaint", MANAGER)
declare_permission("complaints.archive_complaint", MANAGER)
declare_permission("complaints.erase_consumer", SITE_ADMINISTRATOR)
declare_permission("complaints.view_unitssold", READER)
declare_permission("complaints.add_unitssold", MANAGER)
declare_permission("complaints.change_unitssold", MANAGER)

urlpatterns = operation_urls(
    ComplaintViewSet,
    adds("AddComplaintDetail", STANDARD, ComplaintSerializer, examples.ADD_COMPLAINT_DETAIL),
    reads("GetComplaint", ComplaintSerializer, examples.GET_COMPLAINT),
    lists(
        "GetComplaintList",
        ComplaintSerializer,
        examples.GET_COMPLAINT_LIST,
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
    updates("UpdateComplaintDetail", STANDARD, ComplaintChangeSerializer, examples.UPDATE_COMPLAINT_DETAIL),
)
