"""Worked examples of the employee endpoint."""

from records.operations.examples import STAMPS, Example, done, entry, sample

EMPLOYEE = sample("Employee", "Ann Baker")
REQUIRED = {
    "FirstName": "Ann",
    "LastName": "Baker",
    "NatureOfEmploymentId": entry("NatureOfEmployment", "EMPLOYEE"),
    "Position": "Shift lead",
}
TRAINING = {
    "Title": "HACCP level 3",
    "Institution": "Food Training Institute",
    "Year": "2024",
    "Award": "Certificate",
    "EducationResultId": entry("EducationResult", "PASSED"),
}
EMPLOYMENT = {
    "PositionHeld": "Baker",
    "Company": "Mill Lane Bakery",
    "StartDate": "2018-03-01T00:00:00.000Z",
    "FinishDate": "2023-08-31T00:00:00.000Z",
}
BODY = {
    "TitleId": entry("Title", "MS"),
    **REQUIRED,
    "Code": "E-104",
    "Address": "1 Mill Lane\nHillside",
    "Phone": "+64 3 555 0104",
    "Mobile": "+64 21 555 104",
    "EmailAddress": "ann.baker@hillside.example",
    "DateOfBirth": "1990-05-17T00:00:00.000Z",
    "NationalityId": entry("Nationality", "NZ"),
    "FirstLanguageId": entry("Language", "en"),
    "SecondLanguageId": entry("Language", "fr"),
    "SecondLanguageProficiencyId": entry("LanguageProficiency", "GOOD"),
    "CommencementDate": "2023-09-04T00:00:00.000Z",
    "Notes": "First aider.",
    "EntityFolderId": sample("EntityFolder", "Packing", entity="employee"),
    "EducationTraining": [TRAINING],
    "EmploymentHistory": [EMPLOYMENT],
}
READ = {
    "Id": EMPLOYEE,
    "SiteSequenceId": 1,
    "TitleId": BODY["TitleId"],
    "FirstName": "Ann",
    "LastName": "Baker",
    "Code": "E-104",
    "NatureOfEmploymentId": REQUIRED["NatureOfEmploymentId"],
    "Position": "Packing manager",
    **{name: BODY[name] for name in ("Address", "Phone", "Mobile", "EmailAddress", "DateOfBirth", "NationalityId")},
    **{name: BODY[name] for name in ("FirstLanguageId", "SecondLanguageId", "SecondLanguageProficiencyId")},
    "CommencementDate": BODY["CommencementDate"],
    "ReportingToId": None,
    "Notes": "First aider.",
    "EntityFolderId": BODY["EntityFolderId"],
    "EducationTraining": [{"Id": sample("EducationTraining", "HACCP level 3"), **TRAINING}],
    "EmploymentHistory": [{"Id": sample("EmploymentHistory", "Mill Lane Bakery"), **EMPLOYMENT}],
    "JobDescription": [],
    "UserId": None,
    **STAMPS,
}

JOB = sample("JobDescription", "Packing manager")
JOB_BODY = {
    "Name": "Packing manager",
    "Code": "JD-7",
    "Department": "Packing",
    "Purpose": "Runs the packing lines safely and to plan.",
    "Responsibilities": "Line clearance\nMetal detector checks",
    "Authority": "Stops a line.",
    "Qualifications": "HACCP level 3",
    "Experience": "Two years as a shift lead",
    "ReportsToId": None,
    "DeputyId": None,
    "EffectiveDate": "2026-01-01T00:00:00.000Z",
    "ReviewDate": "2027-01-01T00:00:00.000Z",
    "DocumentId": None,
    "Employee": [{"Id": EMPLOYEE}],
    "EntityFolderId": None,
}
JOB_READ = {"Id": JOB, "SiteSequenceId": 1, **JOB_BODY, **STAMPS}

ADD_EMPLOYEE = (Example(body=BODY, answer=done(EMPLOYEE)),)
UPDATE_EMPLOYEE = (Example(id=EMPLOYEE, body={**REQUIRED, "Position": "Packing manager"}, answer=done(EMPLOYEE)),)
GET_EMPLOYEE = (Example(id=EMPLOYEE, answer=READ),)
GET_EMPLOYEE_LIST = (Example(query={"code": "e-104"}, answer=[READ]),)
ADD_JOB_DESCRIPTION = (Example(body=JOB_BODY, answer=done(JOB)),)
GET_JOB_DESCRIPTION = (Example(id=JOB, answer=JOB_READ),)
GET_JOB_DESCRIPTION_LIST = (Example(query={"employeeId": EMPLOYEE}, answer=[JOB_READ]),)
