"""All sections of the start page, in their order."""

from django.http import HttpRequest

from records.dashboard.to_do import actions, audits, complaints, documents
from records.dashboard.to_do.sections import Section, Viewer


def sections_for(request: HttpRequest) -> list[Section]:
    """Return the sections of everything that this person can have to do; two or three queries each."""
    viewer = Viewer(request)
    found = [documents.to_sign(viewer), documents.to_read(viewer), actions.own(viewer)]
    if rejected := documents.rejected(viewer):
        found.insert(0, rejected)
    if viewer.may("actions.close_action"):
        found.append(actions.to_judge(viewer))
    found.append(complaints.own(viewer))
    if viewer.may("complaints.complete_complaint"):
        found += [complaints.to_triage(viewer), complaints.to_complete(viewer)]
    if viewer.may("complaints.submit_complaint"):
        found.append(complaints.drafts(viewer))
    found += [section for section in (audits.own(viewer), audits.naming(viewer)) if section is not None]
    if viewer.may("audits.complete_auditrecord"):
        found.append(audits.of_others(viewer))
    if viewer.may("audits.add_auditrecord"):
        found.append(audits.to_schedule(viewer))
    if viewer.may("documents.change_document"):
        found.append(documents.to_review(viewer))
    return found
