"""Worked examples of the action endpoint."""

from records.operations.examples import CALLER, STAMPS, Example, done, sample

ACTION = sample("Action", "Replace the blue crate on line 2")
BODY = {
    "Name": "Replace the blue crates on line 2",
    "Description": "Their rims splinter. Order grey ones and count the blue ones out.",
    "Kind": "Corrective",
    "RecordId": sample("Complaint", "Blue plastic in a rye bread"),
    "FindingId": None,
    "CauseId": sample("Cause", "Worn equipment"),
    "OwnerId": CALLER,
    "DueDate": "2026-03-20T00:00:00.000Z",
    "Priority": "High",
}
READ = {
    "Id": ACTION,
    "SiteSequenceId": 1,
    **BODY,
    "RecordStatus": "Open",
    "Result": "",
    "VerifiedBy": None,
    "Effective": None,
    "ClosedBy": None,
    "ClosedDate": None,
    **STAMPS,
}

ADD_ACTION = (Example(body=BODY, answer=done(ACTION)),)
GET_ACTION = (Example(id=ACTION, answer=READ),)
GET_ACTION_LIST = (
    Example(
        title="What somebody still has to do before a day",
        query={"ownerId": CALLER, "recordStatus": "Open", "dueBefore": "2026-04-01"},
        answer=[READ],
    ),
)
UPDATE_ACTION = (
    Example(
        id=ACTION,
        body={"RecordStatus": "Done", "Result": "All 40 blue crates are out; grey ones are in use."},
        answer=done(ACTION),
        title="The owner marks it as Done",
    ),
    Example(
        id=ACTION,
        body={"RecordStatus": "Closed", "Effective": True},
        status=409,
        answer={
            "Error": "InvalidTransition",
            "Message": "You cannot close your own action. Ask another Manager.",
            "Id": "",
            "Fields": [],
            "RequestId": "5b0c4c1d3f7d4c0f9a7c",
        },
        differs=("RequestId",),
        title="Somebody else has to close it",
    ),
)
