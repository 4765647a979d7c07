"""GetAuditProgram and GetAuditProgramList."""

import pytest
from django.core.exceptions import ValidationError

from records.audits import actions
from tests import make
from tests.make.audits import make_checklist, make_program, make_rating, response
from tests.make.documents import make_document


def test_a_program_reads_whole(api):
    site = api.key.site
    auditors = [make.make_employee(site) for _ in range(2)]
    auditee, checklist, rating = make.make_employee(site), make_checklist(site), make_rating(site)
    program = make_program(
        site,
        name="Glass audit",
        type="Site Self-assessment",
        department="Packing",
        risk="High",
        auditors=auditors,
        auditees=[auditee],
        checklists=[checklist],
        rating=rating,
        rating_response=response(rating, "Yes"),
        frequency_months=3,
    )
    read = api.get(f"/audit/GetAuditProgram/{program.pk}")
    assert read.status_code == 200, read.content
    shape = read.json()
    assert sorted(shape.pop("Auditor"), key=str) == sorted(({"Id": str(one.pk)} for one in auditors), key=str)
    assert shape == {
        "Id": str(program.pk),
        "SiteSequenceId": 1,
        "Name": "Glass audit",
        "Type": "Site Self-assessment",
        "Department": "Packing",
        "Risk": "High",
        "Auditee": [{"Id": str(auditee.pk)}],
        "Procedure": [],
        "Checklist": [{"Id": str(checklist.pk)}],
        "RatingId": str(rating.pk),
        "RatingResponseId": str(response(rating, "Yes").pk),
        "Created": shape["Created"],
        "CreatedBy": None,
        "LastModified": shape["Created"],
        "LastModifiedBy": None,
    }
    assert shape["Created"].endswith("Z")


def test_an_empty_program_reads_with_every_field(api):
    program = make_program(api.key.site)
    shape = api.get(f"/audit/GetAuditProgram/{program.pk}").json()
    empty = {name: shape[name] for name in ("Department", "Risk", "Auditor", "Auditee", "Procedure", "Checklist")}
    assert empty == {"Department": "", "Risk": "", "Auditor": [], "Auditee": [], "Procedure": [], "Checklist": []}
    assert (shape["RatingId"], shape["RatingResponseId"]) == (None, None)


def test_programs_are_listed_by_type_risk_department_and_auditor(api):
    site = api.key.site
    ada, ben = make.make_employee(site), make.make_employee(site)
    make_program(site, name="A", type="Internal Audit", risk="High", department="Packing", auditors=[ada, ben])
    make_program(site, name="B", type="Site Audit", risk="Low", department="Baking", auditors=[ben])
    make_program(site, name="C", type="Site Self-assessment", department="packing")

    def names(**query):
        answer = api.get("/audit/GetAuditProgramList", query)
        assert answer.status_code == 200, answer.content
        assert answer["X-Total-Count"] == str(len(answer.json()))
        return "".join(row["Name"] for row in answer.json())

    assert names() == "ABC"
    assert names(type="internal audit") == "A"
    assert names(type="Site Audit,Site Self-assessment") == "BC"
    assert names(risk="HIGH") == "A"
    assert names(risk="none") == ""
    assert names(department="PACKING") == "AC"
    assert names(auditorId=str(ben.pk).upper()) == "AB"
    assert names(auditorId=f"{ada.pk},{ben.pk}") == "AB"
    assert names(auditorId=str(ben.pk), risk="low") == "B"
    assert names(auditorId=str(site.pk)) == ""
    assert names(search="pack") == "AC"
    assert names(sort="Name", order="desc") == "CBA"
    assert names(auditorId=str(ben.pk), sort="LastModified", order="desc") == "BA"


@pytest.mark.parametrize(
    "query",
    ["type=Visit", "risk=huge", "auditorId=abc", "auditorID2=x", "sort=Auditor", "isArchived=maybe"],
)
def test_a_filter_that_says_nothing_is_refused(api, query):
    answer = api.get(f"/audit/GetAuditProgramList?{query}")
    assert answer.status_code == 400
    assert answer.json()["Error"] in ("InvalidParameter", "UnknownParameter")


def test_procedures_are_documents_of_the_site_in_the_order_given(api, other_site):
    site = api.key.site
    first, second = make_document(site, name="Glass policy"), make_document(site, name="Breakages")
    program = make_program(site, procedures=[second, first])
    shape = api.get(f"/audit/GetAuditProgram/{program.pk}").json()
    assert shape["Procedure"] == [{"Id": str(second.pk)}, {"Id": str(first.pk)}]
    foreign = make_document(other_site)
    with pytest.raises(ValidationError) as caught:
        actions.update_audit_program(site.pk, program.pk, {"procedures": [first, foreign]}, author=make.SYSTEM)
    fault = caught.value.error_list[0]
    assert (fault.code, fault.params["relation"], fault.params["idx"]) == ("InvalidReference", "procedures", 1)
    assert api.get(f"/audit/GetAuditProgram/{program.pk}").json() == shape
