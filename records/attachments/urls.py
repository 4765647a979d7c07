"""The operations of the attachment endpoint; start reading here."""

from records.attachments import examples
from records.attachments.serializers import AttachmentSerializer
from records.attachments.views import ADDRESSES, AttachmentViewSet
from records.files.bodies import SWITCHES
from records.operations.operation import (
    MANAGER,
    STANDARD,
    Parameter,
    adds,
    declare_permission,
    lists,
    operation_urls,
    reads,
)

declare_permission("attachments.archive_attachment", MANAGER)

urlpatterns = [
    *operation_urls(
        AttachmentViewSet,
        adds("AddAttachment", STANDARD, AttachmentSerializer, examples.ADD_ATTACHMENT),
        reads("GetAttachment", AttachmentSerializer, examples.GET_ATTACHMENT, *SWITCHES),
        lists(
            "GetAttachmentList",
            AttachmentSerializer,
            examples.GET_ATTACHMENT_LIST,
            Parameter("recordId", "id", description="Of this record."),
        ),
    ),
    *ADDRESSES.urls(),
]
