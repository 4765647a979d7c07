"""The wire shapes of items."""

from records.items.models import Item
from records.operations.serializers import STAMPS, WireSerializer


class ItemSerializer(WireSerializer):
    """An item: the document's six fields; the read shape adds Id, number and stamps."""

    class Meta:
        model = Item
        fields = (
            "Id",
            "SiteSequenceId",
            "Name",
            "Code",
            "SerialNumber",
            "Location",
            "Notes",
            "EntityFolderId",
            *STAMPS,
        )
        required: tuple[str, ...] = ("Name",)


class ItemChangeSerializer(ItemSerializer):
    """The body of an update, where an absent Name keeps its value."""

    class Meta(ItemSerializer.Meta):
        required = ()
