"""The operations of the attachment endpoint; start reading here."""

from records.attachments import examples
from records.attachments.serializers import AttachmentSerializer
from records.attachments.views import ADDRESSES, AttachmentViewSet
from records.files.bodies import SWITCHES
from records.operations.operation import MANAGER, READER, STANDARD, Operation, Parameter, operation_urls, permits
from records.operations.schema import WriteResult

permits("attachments.archive_attachment", MANAGER)

urlpatterns = [
    *operation_urls(
        AttachmentViewSet,
        Operation(
            method="POST",
            name="AddAttachment",
            permission="attachments.add_attachment",
            role=STANDARD,
            request=AttachmentSerializer,
            response=WriteResult,
            examples=examples.ADD_ATTACHMENT,
        ),
        Operation(
            method="GET",
            name="GetAttachment",
            permission="attachments.view_attachment",
            role=READER,
            takes_id=True,
            response=AttachmentSerializer,
            parameters=SWITCHES,
            examples=examples.GET_ATTACHMENT,
        ),
        Operation(
            method="GET",
            name="GetAttachmentList",
            permission="attachments.view_attachment",
            role=READER,
            many=True,
            response=AttachmentSerializer,
            parameters=(Parameter("recordId", "id", description="Of this record."),),
            examples=examples.GET_ATTACHMENT_LIST,
        ),
    ),
    *ADDRESSES.urls(),
]
