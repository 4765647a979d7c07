"""Worked examples of the complaint endpoint."""

from records.operations.examples import STAMPS, Example, done, entry, sample

COMPLAINT = sample("Complaint", "Blue plastic in a rye bread")
REQUIRED = {
    "CustomerId": sample("Customer", "Harbour Foods"),
    "ProductId": sample("Product", "Rye bread 800 g"),
    "NonconformanceId": sample("Nonconformance", "Foreign body: plastic"),
}
BODY = {
    "Date": "2026-03-02T08:40:00.000Z",
    "CustomerId": REQUIRED["CustomerId"],
    "SourceId": sample("ComplaintSource", "Consumer"),
    "SourceDetails": "Forwarded by the shop",
    "MethodId": sample("ComplaintMethod", "Telephone"),
    "SampleDetails": "Half a loaf, kept frozen",
    "ConsumerSalutationId": entry("Title", "MS"),
    "ConsumerFirstName": "Ida",
    "ConsumerLastName": "Okafor",
    "ConsumerAddress": "3 Quay Row\nNelson",
    "ConsumerPurchased": "Harbour Foods, Nelson",
    "ConsumerPhone": "+64 3 555 0142",
    "ConsumerMobile": "",
    "ConsumerEmail": "ida.okafor@mail.example",
    "ProductId": REQUIRED["ProductId"],
    "Quantity": 1.5,
    "ManufactureDate": "2026-02-26T00:00:00.000Z",
    "ExpirationDate": "2026-03-08T00:00:00.000Z",
    "TraceNumber": "L26057-2",
    "BrandId": sample("Brand", "Hillside"),
    "ProductionUnitId": sample("ProductionUnit", "Line 2"),
    "NonconformanceId": REQUIRED["NonconformanceId"],
    "ComplaintDescription": "A piece of blue plastic, about 4 mm, in the crumb.",
}
READ = {
    "Id": COMPLAINT,
    "SiteSequenceId": 1,
    "RecordStatus": "Awaiting Review",
    **BODY,
    "ReviewReport": "",
    **STAMPS,
}

ADD_COMPLAINT_DETAIL = (
    Example(body=BODY, answer=done(COMPLAINT)),
    Example(
        title="A field is missing and another misspelt",
        body={**REQUIRED, "NonconformanceId": None, "TraceNo": "L26057-2"},
        status=400,
        answer={
            "Error": "ValidationFailed",
            "Message": "2 fields are not valid.",
            "Id": "",
            "Fields": [
                {
                    "Field": "NonconformanceId",
                    "Code": "RequiredField",
                    "Message": "This field is required and must not be empty.",
                },
                {
                    "Field": "TraceNo",
                    "Code": "UnknownField",
                    "Message": "There is no field 'TraceNo'. Did you mean TraceNumber?",
                },
            ],
            "RequestId": "5b0c4c1d3f7d4c0f9a7c",
        },
        differs=("RequestId",),
    ),
)
GET_COMPLAINT = (Example(id=COMPLAINT, answer=READ),)
GET_COMPLAINT_LIST = (
    Example(
        title="Complaints about a product since a day",
        query={"productId": REQUIRED["ProductId"], "dateFrom": "2026-03-01", "recordStatus": "Awaiting Review"},
        answer=[READ],
    ),
)
UPDATE_COMPLAINT_DETAIL = (
    Example(
        id=COMPLAINT,
        body={**REQUIRED, "Quantity": 2, "TraceNumber": "L26057-3", "ReasonForChange": "The lot was misread."},
        answer=done(COMPLAINT),
    ),
)
