"""Worked examples of the audit endpoint."""

from records.operations.examples import CALLER, MOMENT, STAMPS, Example, sample

RATING = sample(
    "Rating",
    "Conformity",
    responses=[
        {"name": "Conforms", "score": 10},
        {"name": "Minor nonconformity", "score": 6},
        {"name": "Not applicable", "score": None},
    ],
    bands=[
        {"from_score": 0, "to_score": "74.99", "rating": "C", "result": "Fail"},
        {"from_score": 75, "to_score": "89.99", "rating": "B", "result": "Pass"},
        {"from_score": 90, "to_score": 100, "rating": "A", "result": "Pass"},
    ],
)
CHECKLIST = sample("Checklist", "Allergen control")
NONCONFORMANCE = sample("Nonconformance", "Allergen cross-contact")
PROGRAM = sample("AuditProgram", "Allergen management")
AUDITOR, AUDITEE = sample("Employee", "the auditor"), sample("Employee", "the auditee")
RECORD = sample("AuditRecord", "the first audit")

PROGRAM_READ = {
    "Id": PROGRAM,
    "SiteSequenceId": 1,
    "Name": "Allergen management",
    "Type": "Internal Audit",
    "Department": "Quality",
    "Risk": "High",
    "Auditor": [{"Id": AUDITOR}],
    "Auditee": [{"Id": AUDITEE}],
    "Procedure": [],
    "Checklist": [{"Id": CHECKLIST}],
    "RatingId": RATING,
    "RatingResponseId": None,
    **STAMPS,
}
RECORD_READ = {
    "Id": RECORD,
    "SiteSequenceId": 1,
    "AuditProgramId": PROGRAM,
    "RecordStatus": "Completed",
    "Date": "2026-02-10T00:00:00.000Z",
    "StartDate": "2026-02-10T08:30:00.000Z",
    "FinishDate": "2026-02-10T15:00:00.000Z",
    "DueDate": "2026-02-28T00:00:00.000Z",
    "Auditor": [{"Id": AUDITOR}],
    "Auditee": [{"Id": AUDITEE}],
    "Checklist": [{"Id": CHECKLIST}],
    "RatingId": RATING,
    "Score": 80,
    "Rating": "B",
    "Result": "Pass",
    "Finding": [
        {
            "Id": sample("Finding", "storage"),
            "Question": "Are allergens stored apart and labelled?",
            "RatingResponseId": sample("RatingResponse", "Conforms"),
            "Comment": "",
            "NonconformanceId": None,
        },
        {
            "Id": sample("Finding", "changeover"),
            "Question": "Is the changeover cleaning verified and signed?",
            "RatingResponseId": sample("RatingResponse", "Minor nonconformity"),
            "Comment": "Tuesday's record is not signed.",
            "NonconformanceId": NONCONFORMANCE,
        },
        {
            "Id": sample("Finding", "rework"),
            "Question": "Can rework be traced by its allergens?",
            "RatingResponseId": sample("RatingResponse", "Not applicable"),
            "Comment": "",
            "NonconformanceId": None,
        },
    ],
    "Notes": "",
    "CompletedDate": MOMENT,
    "CompletedBy": CALLER,
    **STAMPS,
}

GET_AUDIT_PROGRAM = (Example(id=PROGRAM, answer=PROGRAM_READ),)
GET_AUDIT_PROGRAM_LIST = (
    Example(
        title="Programs of high risk that an employee audits in",
        query={"risk": "high", "auditorId": AUDITOR},
        answer=[PROGRAM_READ],
    ),
)
GET_AUDIT_PROGRAM_RECORD_LIST = (
    Example(
        title="A program's completed audits of a year",
        id=PROGRAM,
        query={"recordStatus": "Completed", "dateFrom": "2026-01-01", "dateTo": "2026-12-31"},
        answer=[RECORD_READ],
        differs=("CompletedDate",),
    ),
)
