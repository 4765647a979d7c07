"""The JSON shapes of complaints."""

from records.complaints.models import Complaint, UnitsSold
from records.operations.fields import TextField
from records.operations.serializers import STAMPS, WireSerializer
from records.sites.text import REASON


class ComplaintSerializer(WireSerializer):
    """A complaint with exactly the documented fields; a reason that is sent with an add is kept in the history."""

    ReasonForChange = TextField(
        write_only=True,
        required=False,
        max_length=REASON,
        help_text="The reason why the record is being changed. Kept in the history, not part of the record.",
    )

    class Meta:
        model = Complaint
        fields = (
            "Id",
            "SiteSequenceId",
            "RecordStatus",
            "Date",
            "CustomerId",
            "SourceId",
            "SourceDetails",
            "MethodId",
            "SampleDetails",
            "ConsumerSalutationId",
            "ConsumerFirstName",
            "ConsumerLastName",
            "ConsumerAddress",
            "ConsumerPurchased",
            "ConsumerPhone",
            "ConsumerMobile",
            "ConsumerEmail",
            "ProductId",
            "Quantity",
            "ManufactureDate",
            "ExpirationDate",
            "TraceNumber",
            "BrandId",
            "ProductionUnitId",
            "NonconformanceId",
            "ComplaintDescription",
            "ReasonForChange",
            "ReviewReport",
            *STAMPS,
        )
        required: tuple[str, ...] = ("CustomerId", "ProductId", "NonconformanceId")
        read_only = ("RecordStatus", "ReviewReport")
        private = (
            "ConsumerFirstName",
            "ConsumerLastName",
            "ConsumerAddress",
            "ConsumerPhone",
            "ConsumerMobile",
            "ConsumerEmail",
        )
        private_permission = "complaints.view_private_complaint"


class ComplaintChangeSerializer(ComplaintSerializer):
    """The body of an update, which includes the reason for the change."""

    ReasonForChange = TextField(
        write_only=True,
        required=True,
        max_length=REASON,
        help_text="The reason why the record is being changed.",
    )

    class Meta(ComplaintSerializer.Meta):
        required = (*ComplaintSerializer.Meta.required, "ReasonForChange")


class UnitsSoldSerializer(WireSerializer):
    """The columns of the file in which the units sold are imported and exported."""

    class Meta:
        model = UnitsSold
        fields = ("Id", "Month", "Units")
        required = ("Month", "Units")
