"""The export of actions. There is no import: an action is added, done and closed on its own page."""

from records.actions.models import Action
from records.actions.serializers import ActionSerializer
from records.backoffice.transfer.about import AboutResource
from records.backoffice.transfer.registry import transferable
from records.operations.tables import WireTable


@transferable
class ActionResource(AboutResource):
    """The export of actions."""

    model = Action
    # VerifiedBy repeats ClosedBy.
    table = WireTable(ActionSerializer, without=("VerifiedBy",))
