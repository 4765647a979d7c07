"""The export of actions. There is no import: an action is added, done and closed on its own page."""

import uuid
from collections.abc import Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet

from records.actions.models import Action
from records.actions.serializers import ActionSerializer
from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.operations.tables import WireTable
from records.sites.about import names_of


@transferable
class ActionResource(RecordResource):
    """The export of actions, with the names of the records that they are about."""

    model = Action
    # VerifiedBy repeats ClosedBy, and a finding is named on the page of its audit.
    table = WireTable(ActionSerializer, without=("VerifiedBy", "FindingId"))
    can_import: ClassVar[bool] = False

    def describe(self, values: Sequence[dict[str, Any]]) -> dict[str, dict[uuid.UUID, str]]:
        """Return the names of those records that the user may see."""

        def seen(rows: QuerySet[Any]) -> QuerySet[Any]:
            options = rows.model._meta
            permission = f"{options.app_label}.view_{options.model_name}"
            return self.names.seen(rows) if self.may(permission) else rows.none()

        keys = {row["RecordId"] for row in values} - {None}
        return {"RecordId": names_of(self.site_id, keys, seen)}
