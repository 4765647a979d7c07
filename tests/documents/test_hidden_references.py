"""A reference to a document that does not exist for somebody is empty at every door, and stays through their edits.

The rule is one (`records.sites.hidden`); here each reference that a model declares is tried against each door.
"""

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.urls import reverse

from documents.models import Document
from records.accounts.models import DefaultRole, User
from records.actions.models import Action
from records.audits.models import AuditProgram
from records.employees import actions as employees
from records.employees.models import JobDescription
from records.history.models import Change
from records.history.trail import now
from records.reminders.contents import parts_for
from records.sites.about import AboutRecord
from records.sites.models import ChildRow, Entity, Site, SiteRecord
from tests import make
from tests.conftest import Api
from tests.documents.conftest import Stock
from tests.make import documents as docs
from tests.make import packs
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.audits import make_program
from tests.make.backoffice import address, browser, form_of, list_address, save, sign_in
from tests.make.transfer import bring_in, export, table

ROLES = (DefaultRole.READER, DefaultRole.STANDARD)
PENDING = "documents.view_pending_version"


@dataclass(frozen=True)
class Reference:
    """How a record refers to documents: the paths of the record and the list, and which Ids an answer shows."""

    model: type[SiteRecord]
    field: str
    record_path: str
    list_path: str
    ids_in: Callable[[Any], set[str]]


def _ids(name: str) -> Callable[[Any], set[str]]:
    return lambda row: {entry["Id"] for entry in row[name]}


REFERENCES = (
    Reference(
        JobDescription,
        "document",
        "/employee/GetJobDescription/",
        "/employee/GetJobDescriptionList",
        lambda row: {row["DocumentId"]} - {None},
    ),
    Reference(AuditProgram, "procedures", "/audit/GetAuditProgram/", "/audit/GetAuditProgramList", _ids("Procedure")),
)
"""The references that the JSON interface shows."""
IN_THE_BACK_OFFICE = {("JobDescription", "required_documents")}
"""The references that only pages show."""
ABOUT = {"Action", "Attachment"}
"""The kinds whose rows are about a document."""


def make_holder(site: Site, reference: Reference, *targets: Document) -> Any:
    """Make a record that refers to the documents."""
    if reference.model is JobDescription:
        return make.make_job_description(site, document=targets[-1])
    program = make_program(site)
    program.procedures.set(targets)
    return program


@pytest.fixture(params=ROLES)
def role(request: Any) -> DefaultRole:
    """Return each default role that sees documents as they are in force."""
    value: DefaultRole = request.param
    return value


each_reference = pytest.mark.parametrize("reference", REFERENCES, ids=lambda one: f"{one.model.__name__}.{one.field}")


def test_every_reference_to_a_document_is_tried_here() -> None:
    references = set()
    for model in apps.get_models():
        if not issubclass(model, SiteRecord | ChildRow) or model._meta.app_label == "documents":
            continue  # The rows of a document are seen as the document is.
        fields = (*model._meta.concrete_fields, *model._meta.many_to_many)
        references |= {(model.__name__, field.name) for field in fields if field.related_model is Document}
    assert references == {(one.model.__name__, one.field) for one in REFERENCES} | IN_THE_BACK_OFFICE
    about = {
        model.__name__
        for model in apps.get_models()
        if issubclass(model, AboutRecord) and (not model.ABOUT or Entity.DOCUMENT in model.ABOUT)
    }
    assert about == ABOUT


# --- JSON -----------------------------------------------------------------------------------------------------------


@each_reference
def test_an_answer_names_only_documents_that_exist_for_the_caller(
    site: Site, stock: Stock, role: DefaultRole, reference: Reference
) -> None:
    visible, hidden = (make_holder(site, reference, one) for one in (stock.newer, stock.pending))
    for caller, ids in ((Api(make.make_key(site, role)), set()), (Api(make.make_key(site)), {str(stock.pending.pk)})):
        assert reference.ids_in(caller.get(f"{reference.record_path}{hidden.pk}").json()) == ids
        assert reference.ids_in(caller.get(f"{reference.record_path}{visible.pk}").json()) == {str(stock.newer.pk)}
        rows = {row["Id"]: row for row in caller.get(reference.list_path).json()}
        assert reference.ids_in(rows[str(hidden.pk)]) == ids
        assert reference.ids_in(rows[str(visible.pk)]) == {str(stock.newer.pk)}
        expected = {str(hidden.pk): ids, str(visible.pk): {str(stock.newer.pk)}}
        for query in ({"startIndex": "1"}, {"startIndex": "1", "sort": "LastModified"}):
            (row,) = caller.get(reference.list_path, query).json()
            assert reference.ids_in(row) == expected[row["Id"]]


def test_a_list_is_sorted_by_what_it_shows(site: Site, stock: Stock) -> None:
    jobs = [make.make_job_description(site, document=one) for one in (stock.pending, stock.newer, None)]
    rows = Api(make.make_key(site, DefaultRole.READER)).get(
        "/employee/GetJobDescriptionList", {"sort": "DocumentId", "order": "asc"}
    )
    ids = [row["Id"] for row in rows.json()]
    assert ids[0] == str(jobs[1].pk)
    assert ids[1:] == sorted(ids[1:])


@each_reference
def test_an_answer_gets_a_new_tag_when_a_document_comes_into_sight(
    site: Site, stock: Stock, reference: Reference
) -> None:
    holder = make_holder(site, reference, stock.pending)
    reader = Api(make.make_key(site, DefaultRole.READER))
    path = f"{reference.record_path}{holder.pk}"
    tag = reader.get(path)["ETag"]
    assert reader.get(path, **{"If-None-Match": tag}).status_code == 304
    docs.sign(docs.version_of(stock.pending), stock.reviewer)
    answer = reader.get(path, **{"If-None-Match": tag})
    assert answer.status_code == 200
    assert reference.ids_in(answer.json()) == {str(stock.pending.pk)}


def editor(site: Site, *permissions: str) -> User:
    """Make somebody who may change records that refer to documents, but sees no pending version."""
    user = make.make_user(site=site, role=DefaultRole.READER)
    make.make_role(site, permissions, [user])
    return user


def test_reading_editing_and_sending_back_keeps_what_was_hidden(site: Site, stock: Stock) -> None:
    holders = [make_holder(site, one, stock.newer, stock.pending) for one in REFERENCES]
    user = editor(site, "employees.change_jobdescription", "audits.change_auditprogram", "audits.view_auditprogram")
    caller = Api(make.make_key(site, user=user))
    program = holders[1]
    client = sign_in(user, site)
    for record, values in ((holders[0], {"purpose": "Another"}), (program, {"name": "Another"})):
        save(client, record, change_reason="Corrected", **values)
        record.refresh_from_db()
        assert {name: getattr(record, name) for name in values} == values
    assert holders[0].document == stock.pending
    assert set(program.procedures.all()) == {stock.newer, stock.pending}
    page = client.get(address(program, "change")).content.decode()
    assert "Recall" not in page
    assert "Cleaning" in page
    data = form_of(client.get(address(program, "change")))
    data.pop("procedures", None)
    client.post(address(program, "change"), {**data, "change_reason": "Taken out"})
    assert set(program.procedures.all()) == {stock.pending}
    (row,) = table(export(client, AuditProgram))
    assert "Recall" not in str(row)
    assert str(stock.pending.pk) not in str(row)
    if "Procedure" in row:
        bring_in(client, AuditProgram, [{"Id": row["Id"], "Name": "By file", "Procedure": "Cleaning"}])
        assert set(program.procedures.all()) == {stock.newer, stock.pending}
    assert caller.get(f"/audit/GetAuditProgram/{program.pk}").status_code == 200


def test_nobody_refers_to_a_hidden_document_because_another_record_does(site: Site, stock: Stock) -> None:
    make.make_job_description(site, document=stock.pending)
    job = make.make_job_description(site)
    client = sign_in(editor(site, "employees.change_jobdescription"), site)
    data = form_of(client.get(address(job, "change")))
    answer = client.post(address(job, "change"), {**data, "document": str(stock.pending.pk), "change_reason": "Why"})
    job.refresh_from_db()
    assert (answer.status_code, job.document) == (200, None)


# --- Rows about a document ------------------------------------------------------------------------------------------


def test_an_action_about_a_hidden_document_does_not_exist(site: Site, stock: Stock, role: DefaultRole) -> None:
    hidden = make_action(site, about=stock.pending, name="Withdraw the recall plan")
    visible = make_action(site, about=stock.newer, name="Withdraw the poster")
    key = make.make_key(site, role)
    caller, client = Api(key), sign_in(key.user, site)
    assert caller.get(f"/action/GetAction/{hidden.pk}").status_code == 404
    answer = caller.get("/action/GetActionList")
    assert [row["Id"] for row in answer.json()] == [str(visible.pk)]
    assert answer["X-Total-Count"] == "1"
    assert caller.get("/action/GetActionList", {"recordId": str(stock.pending.pk)}).json() == []
    assert caller.get("/action/GetActionList", {"search": "recall"}).json() == []
    body = {"Result": "Done", "RecordStatus": "Done"}
    refusal = caller.put(f"/action/UpdateAction/{hidden.pk}", body)
    assert refusal.status_code == (403 if role == DefaultRole.READER else 404)
    for page in ("change", "read", "history"):
        assert client.get(address(hidden, page)).status_code == 404, page
    everything = client.get(list_address(Action)).content.decode()
    assert "poster" in everything
    assert "recall plan" not in everything
    assert [row["Name"] for row in table(export(client, Action))] == ["Withdraw the poster"]
    results = client.get(reverse("admin:search"), {"q": "Withdraw"}).content.decode()
    assert "the poster" in results
    assert "the recall plan" not in results
    feed = caller.get("/change/GetChangeList", {"entity": "Action"}).json()
    assert {row["RecordId"] for row in feed} == {str(visible.pk)}
    manager = Api(make.make_key(site))
    assert manager.get(f"/action/GetAction/{hidden.pk}").json()["RecordId"] == str(stock.pending.pk)
    assert manager.get("/action/GetActionList", {"recordId": str(stock.pending.pk)})["X-Total-Count"] == "1"


def test_the_owner_of_an_action_about_a_hidden_document_does_it_without_learning_of_the_document(
    site: Site, stock: Stock, role: DefaultRole
) -> None:
    key = make.make_key(site, role)
    action = make_action(site, about=stock.pending, owner=key.user, name="Withdraw the plan")
    caller, client = Api(key), sign_in(key.user, site)
    path = f"/action/GetAction/{action.pk}"
    read = caller.get(path).json()
    assert (read["Name"], read["RecordId"]) == ("Withdraw the plan", None)
    rows = caller.get("/action/GetActionList").json()
    assert [(row["Id"], row["RecordId"]) for row in rows] == [(str(action.pk), None)]
    assert caller.get("/action/GetActionList", {"recordId": str(stock.pending.pk)}).json() == []
    assert "Withdraw the plan" in client.get(reverse("admin:index")).content.decode()
    assert "Recall" not in client.get(address(action, "read")).content.decode()
    (row,) = table(export(client, Action))
    assert "Recall" not in str(row)
    assert str(stock.pending.pk) not in str(row)
    done = caller.put(f"/action/UpdateAction/{action.pk}", {**read, "Result": "Gone", "RecordStatus": "Done"})
    assert done.status_code == 200, done.json()
    action.refresh_from_db()
    assert (action.record_status, action.record_id) == ("Done", stock.pending.pk)


def test_an_action_is_not_moved_to_a_hidden_document(site: Site, stock: Stock) -> None:
    key = make.make_key(site, DefaultRole.STANDARD)
    action = make_action(site)
    caller = Api(key)
    answer = caller.put(f"/action/UpdateAction/{action.pk}", {"RecordId": str(stock.pending.pk)})
    assert (answer.status_code, answer.json()["Fields"][0]["Code"]) == (400, "InvalidReference")
    assert caller.put(f"/action/UpdateAction/{action.pk}", {"RecordId": str(stock.newer.pk)}).status_code == 200


# --- Pages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["document__id__exact={}", "document__exact={}", "document__isnull=True"])
def test_a_list_is_not_narrowed_by_a_hidden_document(site: Site, stock: Stock, role: DefaultRole, query: str) -> None:
    make.make_job_description(site, name="Line lead", document=stock.pending)
    path = f"{list_address(JobDescription)}?{query.format(stock.pending.pk)}"
    page = browser(site, role).get(path).content.decode()
    assert "Line lead" not in page
    assert "Recall" not in page
    if "isnull" not in query:
        assert "Line lead" in browser(site).get(path).content.decode()


def test_the_matrices_leave_out_hidden_documents(site: Site, stock: Stock) -> None:
    person = make.make_employee(site)
    job = make.make_job_description(site, required_documents=[stock.newer, stock.pending], employees=[person])
    assert job.employees.get() == person
    seer = editor(site, "employees.change_jobdescription", "employees.view_jobdescription", "documents.view_reading")
    client = sign_in(seer, site)
    page = client.get(reverse("admin:training"), {"show": "all"}).content.decode()
    assert "Cleaning" in page
    assert "Recall" not in page
    assert "Recall" in browser(site).get(reverse("admin:training"), {"show": "all"}).content.decode()
    stock.pending.must_read.set(site.roles.all())
    for path in ("admin:documents_readings", "admin:documents_reading"):
        assert "Recall" not in client.get(reverse(path)).content.decode()


def test_the_history_does_not_tell_of_hidden_documents(site: Site, stock: Stock) -> None:
    job = make.make_job_description(site, document=stock.pending)
    user = editor(site, "history.view_change", "employees.change_jobdescription")
    client = sign_in(user, site)
    pages = [client.get(address(job, "history")), client.get(address(job, "read"))]
    pages.append(client.get(reverse("admin:history_change_changelist")))
    for text in (page.content.decode() for page in pages):
        assert "Recall" not in text
    assert client.get(address(stock.newer, "history")).status_code == 403
    for target in (stock.newer, stock.pending):
        employees.update_job_description(site.pk, job.pk, {"document": target}, author=make.SYSTEM, reason="Why")
    change = Change.objects.filter(record_id=job.pk).latest("number")
    put_back = reverse("admin:employees_jobdescription_put_back", args=(job.pk, change.pk, "document"))
    assert client.get(put_back).status_code == 404
    assert "Recall" in browser(site).get(put_back).content.decode()
    assert "Recall" in browser(site).get(address(job, "history")).content.decode()


def test_a_pack_tells_what_whoever_asked_for_it_sees(site: Site, stock: Stock, tmp_path: Path) -> None:
    job = make.make_job_description(site, required_documents=[stock.newer, stock.pending], document=stock.pending)
    make_action(site, about=stock.pending, name="Withdraw the plan")
    make_attachment(site, on=stock.pending, file_name="Recall plan.txt")
    asker = editor(site, "packs.make_pack", "history.view_change")
    kinds = ("jobs", "actions", "attachments", "changes")
    folder = packs.unpack(packs.finished_pack(site, asker, kinds), tmp_path / "narrow")
    for text in (packs.changes_in(folder), (folder / "changes/changes.jsonl").read_text()):
        assert job.name in text
        assert "Recall" not in text
        assert "Withdraw the plan" not in text
    assert packs.check(folder)[0] == 0
    (row,) = packs.sheet(folder, "job descriptions")
    assert row["Name"] == job.name
    assert "Cleaning" in str(row)
    assert "Recall" not in str(row)
    assert packs.sheet(folder, "actions") == []
    pack = packs.unpack(packs.finished_pack(site, None, kinds), tmp_path / "whole")
    assert "Recall" in str(packs.sheet(pack, "job descriptions"))
    assert "Withdraw the plan" in str(packs.sheet(pack, "actions"))
    for text in (packs.changes_in(pack), (pack / "changes/changes.jsonl").read_text()):
        assert "Recall" in text
        assert "Withdraw the plan" in text


def test_a_reminder_tells_a_superior_only_of_what_exists_for_them(site: Site, stock: Stock) -> None:
    superior = make.make_user(site=site, role=DefaultRole.STANDARD, email="lead@corp.example")
    boss = make.make_employee(site, id=superior.pk, user=superior)
    worker = make.make_user(site=site, role=DefaultRole.STANDARD, email="worker@corp.example")
    make.make_employee(site, id=worker.pk, user=worker, reporting_to=boss)
    overdue = now() - datetime.timedelta(days=30)
    make_action(site, about=stock.pending, owner=worker, name="Withdraw the plan", due_date=overdue)
    make_action(site, owner=worker, name="Sweep", due_date=overdue)
    Document.objects.filter(pk=stock.pending.pk).update(review_date=overdue)
    text = str(parts_for(superior, now().date()))
    assert "Sweep" in text
    assert "Withdraw the plan" not in text
    assert "Recall" not in text
    assert "Withdraw the plan" in str(parts_for(worker, now().date()))
    make.give_role(superior, site, DefaultRole.MANAGER)
    assert "Withdraw the plan" in str(parts_for(User.objects.get(pk=superior.pk), now().date()))


def test_a_trace_finds_no_file_that_is_not_in_force(site: Site, stock: Stock, role: DefaultRole) -> None:
    docs.add_version(stock.newer, b"third", file_name="LOT-4711 draft.txt", user_to_review=[stock.reviewer])
    path = reverse("admin:trace")
    assert "Cleaning" not in browser(site, role).get(path, {"lots": "LOT-4711"}).content.decode()
    assert "Cleaning" in browser(site).get(path, {"lots": "LOT-4711"}).content.decode()
