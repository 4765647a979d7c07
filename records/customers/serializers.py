"""The wire shapes of customers."""

from records.customers.models import Customer, PartyContact
from records.operations.serializers import STAMPS, ChildRows, WireSerializer


class PartyContactSerializer(WireSerializer):
    """A contact of a customer; it has an Id if it is updated."""

    class Meta:
        model = PartyContact
        fields = ("Id", "TitleId", "FirstName", "LastName", "Position", "Email", "Phone")


class CustomerSerializer(WireSerializer):
    """A customer, with exactly the fields of the interface document."""

    PartyContacts = ChildRows(PartyContactSerializer)

    class Meta:
        model = Customer
        fields = (
            "Id",
            "SiteSequenceId",
            "Name",
            "Code",
            "PostalAddressStreet",
            "PostalAddressCity",
            "PostalAddressState",
            "PostalAddressPoBox",
            "PostalAddressCountryId",
            "PhysicalAddressStreet",
            "PhysicalAddressCity",
            "PhysicalAddressState",
            "PhysicalAddressPoBox",
            "PhysicalAddressCountryId",
            "Telephone",
            "Fax",
            "Ddi",
            "Note",
            "EntityFolderId",
            "PartyContacts",
            "Lng",
            "Lat",
            *STAMPS,
        )
        required: tuple[str, ...] = ("Name",)


class CustomerChangeSerializer(CustomerSerializer):
    """The body of an update, where an absent Name keeps its value."""

    class Meta(CustomerSerializer.Meta):
        required = ()
