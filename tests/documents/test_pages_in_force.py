"""The back-office shows documents as they are in force to whoever lacks the permission to see pending versions."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from documents.models import Document
from records.accounts.models import DefaultRole
from records.actions.models import Action
from records.attachments.models import Attachment
from records.audits.models import AuditProgram
from records.dashboard.printing.layouts import action_paper
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.documents.conftest import Stock
from tests.make import documents as docs
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.audits import make_program
from tests.make.backoffice import address, browser, list_address, sign_in
from tests.make.transfer import export, table

ROLES = (DefaultRole.READER, DefaultRole.STANDARD)
HIDDEN = ("Recall", "recall.txt", "draft.pdf", "application/pdf", "Awaiting")
"""What stands on no page of somebody below Manager: the document that never came into force and the newer version."""


@pytest.fixture(params=ROLES)
def role(request: Any) -> DefaultRole:
    """Return each role that sees documents as they are in force."""
    value: DefaultRole = request.param
    return value


def text_of(client: Client, path: str, query: Any = None) -> str:
    """Return a page that opens."""
    answer = client.get(path, query or {})
    assert answer.status_code == 200, (path, answer.status_code)
    return str(answer.content.decode())


@pytest.mark.parametrize("query", [{}, {"q": "Cleaning"}, {"q": "old.txt"}, {"archived": "all"}])
def test_the_list_shows_and_finds_what_is_in_force(site: Site, stock: Stock, role: DefaultRole, query: Any) -> None:
    page = text_of(browser(site, role), list_address(Document), query)
    assert "Cleaning" in page
    assert not any(word in page for word in HIDDEN)
    assert "Issued" in page


@pytest.mark.parametrize("word", ["Recall", "recall.txt", "draft"])
def test_neither_list_nor_search_finds_what_is_not_in_force(
    site: Site, stock: Stock, role: DefaultRole, word: str
) -> None:
    client = browser(site, role)
    for path in (list_address(Document), reverse("admin:search")):
        results = text_of(client, path, {"q": word})
        assert address(stock.pending, "read") not in results
        assert address(stock.newer, "read") not in results


def test_the_search_finds_the_file_name_in_force(site: Site, stock: Stock, role: DefaultRole) -> None:
    results = text_of(browser(site, role), reverse("admin:search"), {"q": "old.t"})
    assert reverse("admin:documents_document_read", args=(stock.newer.pk,)) in results
    assert not any(word in results for word in HIDDEN)


@pytest.mark.parametrize("lookup", ["record_status__exact=Awaiting Review", "version=2", "file_name__startswith=d"])
def test_the_list_is_not_narrowed_by_what_it_does_not_show(
    site: Site, stock: Stock, role: DefaultRole, lookup: str
) -> None:
    answer = browser(site, role).get(f"{list_address(Document)}?{lookup}")
    assert answer.status_code == 400
    assert b"Cleaning" not in answer.content


def test_pages_of_a_document_tell_the_facts_in_force_and_link_its_file(
    site: Site, stock: Stock, role: DefaultRole
) -> None:
    client = browser(site, role)
    for name in ("read", "change", "versions"):
        page = text_of(client, address(stock.newer, name))
        assert "old.txt" in page, name
        assert not any(word in page for word in HIDDEN), name
    file = reverse("admin:documents_in_force", args=(stock.newer.pk,))
    assert file in text_of(client, address(stock.newer, "read"))
    for path in (file, reverse("admin:documents_file", args=(docs.version_of(stock.newer, 1).pk,))):
        assert client.get(path).getvalue() == b"old"
    answer = client.get(address(stock.newer, "compare"), {"from": "1", "to": "2"})
    assert (answer.status_code, answer["Location"]) == (302, address(stock.newer, "versions"))


@pytest.mark.parametrize("page", ["read", "versions", "compare", "readers"])
def test_pages_of_a_document_that_never_came_into_force_do_not_exist(
    site: Site, stock: Stock, role: DefaultRole, page: str
) -> None:
    client = browser(site, role)
    assert client.get(address(stock.pending, page)).status_code == 404
    assert client.get(reverse("admin:documents_in_force", args=(stock.pending.pk,))).status_code == 404


def test_files_of_versions_that_are_not_in_force_do_not_exist(site: Site, stock: Stock, role: DefaultRole) -> None:
    rejected_document = docs.make_document(site, b"rejected", user_to_review=[stock.reviewer])
    docs.sign(docs.version_of(rejected_document), stock.reviewer, "reject", comment="Wrong.")
    superseded = docs.make_document(site, b"before")
    docs.add_version(superseded, b"after")
    client = browser(site, role)
    for version in (
        stock.waiting,
        docs.version_of(stock.pending),
        docs.version_of(rejected_document),
        docs.version_of(superseded, 1),
    ):
        assert client.get(reverse("admin:documents_file", args=(version.pk,))).status_code == 404
    answer = client.get(reverse("admin:documents_file", args=(docs.version_of(superseded, 2).pk,)))
    assert answer.getvalue() == b"after"


def test_a_manager_and_the_signer_see_the_waiting_version(site: Site, stock: Stock) -> None:
    file = reverse("admin:documents_file", args=(stock.waiting.pk,))
    for client in (browser(site, DefaultRole.MANAGER), sign_in(stock.reviewer, site)):
        assert client.get(file).getvalue() == b"new draft"
        assert "draft.pdf" in text_of(client, address(stock.newer, "versions"))
        assert "recall.txt" in text_of(client, address(stock.pending, "read"))
    assert "Awaiting Review" in text_of(
        browser(site), list_address(Document), {"record_status__exact": "Awaiting Review"}
    )


def test_an_export_holds_what_is_in_force(site: Site, stock: Stock, role: DefaultRole) -> None:
    (row,) = table(export(browser(site, role), Document))
    assert (row["Name"], row["Version"], row["RecordStatus"], row["FileName"]) == ("Cleaning", "1", "Issued", "old.txt")
    assert len(table(export(browser(site), Document))) == 2


def test_choices_offer_what_exists_for_whoever_chooses(site: Site, stock: Stock, role: DefaultRole) -> None:
    query = {"field": "audits.auditprogram.procedures", "site": str(site.pk)}
    results = browser(site, role).get(reverse("admin:choose"), query).json()["results"]
    assert [one["text"] for one in results] == ["Cleaning"]
    assert len(browser(site).get(reverse("admin:choose"), query).json()["results"]) == 2


def test_other_records_name_only_documents_that_exist_for_the_reader(
    site: Site, stock: Stock, role: DefaultRole
) -> None:
    program = make_program(site)
    program.procedures.set([stock.newer, stock.pending])
    job = make.make_job_description(site, document=stock.pending, required_documents=[stock.pending])
    client = browser(site, role)
    assert "Cleaning" in text_of(client, address(program, "read"))
    for record in (program, job):
        for page in ("read", "change"):
            assert "Recall" not in text_of(client, address(record, page)), (record, page)
        assert "Recall" in text_of(browser(site), address(record, "read"))
    assert "Recall" not in str(table(export(client, AuditProgram)))
    assert "Recall" in str(table(export(browser(site), AuditProgram)))


def test_an_action_about_a_hidden_document_names_it_nowhere(site: Site, stock: Stock, role: DefaultRole) -> None:
    reader = make.make_user(site=site, role=role)
    action, client = make_action(site, about=stock.pending, owner=reader), sign_in(reader, site)
    for page in ("read", "change"):
        assert "Recall" not in text_of(client, address(action, page)), page
    assert "Recall" not in str(action_paper(Action.objects.get(pk=action.pk), site, reader, ()).texts)
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    assert "Recall" in str(action_paper(Action.objects.get(pk=action.pk), site, manager, ()).texts)
    assert "Recall" in text_of(browser(site), address(action, "read"))


def test_no_action_is_added_about_a_hidden_document(site: Site, stock: Stock) -> None:
    standard = Api(make.make_key(site, DefaultRole.STANDARD))
    body = {"Name": "Look", "OwnerId": str(standard.key.user.pk), "DueDate": "2031-05-01"}  # type: ignore[union-attr]
    answer = standard.post("/action/AddAction", {**body, "RecordId": str(stock.pending.pk)})
    assert (answer.status_code, answer.json()["Fields"][0]["Code"]) == (400, "InvalidReference")
    assert standard.post("/action/AddAction", {**body, "RecordId": str(stock.newer.pk)}).status_code == 200
    client = sign_in(standard.key.user, site)  # type: ignore[union-attr]
    assert "Recall" not in text_of(client, reverse("admin:actions_action_add"), {"about": str(stock.pending.pk)})


def test_attachments_of_a_hidden_document_do_not_exist(site: Site, stock: Stock, role: DefaultRole) -> None:
    hidden = make_attachment(site, on=stock.pending, file_name="secret.txt", content=b"secret")
    attachment = make_attachment(site, on=stock.newer, file_name="plain.txt", content=b"plain")
    key = make.make_key(site, role)
    api, client = Api(key), sign_in(key.user, site)
    assert [row["FileName"] for row in api.get("/attachment/GetAttachmentList").json()] == ["plain.txt"]
    assert api.get("/attachment/GetAttachmentList", {"recordId": str(stock.pending.pk)}).json() == []
    assert api.get(f"/attachment/GetAttachment/{hidden.pk}").status_code == 404
    assert api.get(f"/attachment/GetAttachment/{attachment.pk}").status_code == 200
    assert "secret.txt" not in text_of(client, list_address(Attachment))
    assert "secret.txt" not in text_of(client, reverse("admin:search"), {"q": "secret"})
    for name in ("attachments_file", "attachments_preview"):
        assert client.get(reverse(f"admin:{name}", args=(hidden.pk,))).status_code == 404
    assert client.get(reverse("admin:attachments_file", args=(attachment.pk,))).getvalue() == b"plain"
    manager = Api(make.make_key(site))
    url = manager.get(f"/attachment/GetAttachment/{hidden.pk}?WithURL=1").json()["FileURL"]
    assert manager.get(url.removeprefix("http://127.0.0.1:8000")).getvalue() == b"secret"
    make.give_role(manager.key.user, site, role)  # type: ignore[union-attr]
    manager.key.user.memberships.filter(role__default_role=DefaultRole.MANAGER).delete()  # type: ignore[misc, union-attr]
    assert manager.get(url.removeprefix("http://127.0.0.1:8000")).status_code == 403


def test_the_feed_tells_nothing_of_what_is_not_in_force(site: Site, stock: Stock, role: DefaultRole) -> None:
    docs.add_version(stock.newer, name="Cleaning up", user_to_review=[stock.reviewer])
    rows = Api(make.make_key(site, role)).get("/change/GetChangeList", {"entity": "Document"}).json()
    assert {row["RecordId"] for row in rows} == {str(stock.newer.pk)}
    newest = rows[-1]["Fields"]
    assert newest == ["Name"]
    assert Api(make.make_key(site)).get("/change/GetChangeList", {"entity": "Document"}).json()[-1]["Fields"] != [
        "Name"
    ]


def test_a_reader_of_one_site_and_manager_of_another_sees_each_as_it_should(
    site: Site, other_site: Site, stock: Stock
) -> None:
    person = make.make_user(site=site, role=DefaultRole.READER)
    make.give_role(person, other_site, DefaultRole.MANAGER)
    pending = docs.make_document(other_site, name="Allergens", user_to_review=[docs.make_signer(other_site)])
    results = text_of(sign_in(person, site), reverse("admin:search"), {"q": "a"})
    client = sign_in(person, other_site)
    assert "Awaiting Review" in text_of(client, address(pending, "read"))
    assert "old.txt" in text_of(client, address(stock.newer, "read"))
    hidden = client.get(address(stock.pending, "read"))
    assert hidden.status_code == 404
    assert "or it is not shown to your role" in hidden.text
    assert "Recall" not in results
