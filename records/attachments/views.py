"""The attachment endpoint: reads are handled here, the write calls the actions."""

import uuid
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.http import HttpResponse
from rest_framework.request import Request

from records.attachments import actions
from records.attachments.models import Attachment
from records.attachments.serializers import AttachmentSerializer
from records.attachments.visibility import hidden_condition, may_read, visible, without_drafts
from records.files.addresses import FileAddresses
from records.files.bodies import FileViewSet
from records.files.names import check_file_name
from records.operations import errors
from records.operations.lists import ListRules
from records.operations.plans import Shape
from records.operations.viewsets import Check
from records.sites.writing import Values

ATTACHMENTS = ListRules(search=("name", "description", "file_name"))
ADDRESSES = FileAddresses("attachment", Attachment, may_read)


class AttachmentViewSet(FileViewSet):
    """Attachments of the caller's site, on records that the caller may see."""

    addresses = ADDRESSES

    def records(self, model: type[models.Model]) -> models.QuerySet[Any]:
        """Return the attachments of records that are not drafts."""
        return without_drafts(super().records(model))

    def checks_of_action(self, record: models.Model, values: Values, faulty: Collection[str]) -> list[Check]:
        """Return the checks of the record that the attachment is about, and of the file's name."""
        return [*super().checks_of_action(record, values, faulty), partial(check_file_name, values)]

    def add_attachment(self, request: Request) -> HttpResponse:
        """Attach a file to a record. The caller must be allowed to change the record, which must not be archived."""
        values = self.body_with_file(AttachmentSerializer)
        content = values.pop("file_content")
        attachment = self.call_action(
            actions.add_attachment, self.site_id, values, content, author=self.author, may=self.caller.may
        )
        return self.write_response(attachment.pk, attachment.revision)

    def get_attachment(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one attachment; FileContent and FileURL are empty unless asked for."""
        return self.with_file(
            AttachmentSerializer, visible(id, self.caller.user_id, self.caller.may), self.attachment_of
        )

    def get_attachment_list(self, request: Request) -> HttpResponse:
        """List the attachments of a record, or of all records that the caller may see; never with content."""
        return self.listing(AttachmentSerializer, ATTACHMENTS, condition=~self.left_out)

    @property
    def left_out(self) -> Q:
        """Return the condition that the caller may not see an attachment; empty where the caller may see all."""
        return hidden_condition(self.caller.user_id, self.caller.may)

    def attachment_of(self, shape: Shape) -> Attachment:
        """Return the attachment that a shape describes."""
        return Attachment.objects.at(self.site_id).get(pk=shape["Id"])

    def call_action(self, action: Callable[..., object], *args: object, **kwargs: object) -> Any:
        """Call an action; a site whose attachments have reached their limit is the 413."""
        try:
            return super().call_action(action, *args, **kwargs)
        except actions.SiteFullError as error:
            limit = settings.SITE_ATTACHMENTS_LIMIT
            text = f"The attachments of this site would take more than {limit} bytes together."
            raise errors.ApiError(413, "PayloadTooLarge", text) from error
