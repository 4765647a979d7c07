"""The wire shapes of actions."""

from records.actions.models import Action
from records.operations.fields import BooleanField, IdField, TextField
from records.operations.serializers import STAMPS, WireSerializer
from records.sites.text import REASON


class ActionSerializer(WireSerializer):
    """A corrective or preventive action (DECISIONS 12.2, 13.21); VerifiedBy and ClosedBy are who judged it."""

    VerifiedBy = IdField(read_only=True, allow_null=True, source_name="closed_by")
    Effective = BooleanField(
        required=False, allow_null=True, help_text="Whether the action worked; set when the action is closed."
    )
    ReasonForChange = TextField(
        write_only=True,
        required=False,
        max_length=REASON,
        help_text="Why the action is sent back, cancelled or reopened (then required); kept in the history.",
    )

    class Meta:
        model = Action
        fields = (
            "Id",
            "SiteSequenceId",
            "Name",
            "Description",
            "Kind",
            "RecordId",
            "FindingId",
            "CauseId",
            "OwnerId",
            "DueDate",
            "Priority",
            "RecordStatus",
            "Result",
            "VerifiedBy",
            "Effective",
            "ClosedBy",
            "ClosedDate",
            "ReasonForChange",
            *STAMPS,
        )
        required: tuple[str, ...] = ("Name", "OwnerId", "DueDate")
        read_only = ("ClosedBy", "ClosedDate")

    @classmethod
    def wire_name(cls, name: str) -> str:
        """Return the wire name of a model's field; a step's `reason` is ReasonForChange."""
        return "ReasonForChange" if name == "reason" else super().wire_name(name)


class ActionChangeSerializer(ActionSerializer):
    """The body of an update, where an absent field keeps its value."""

    class Meta(ActionSerializer.Meta):
        required = ()
