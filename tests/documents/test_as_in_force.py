"""Whoever lacks the permission to see pending versions sees documents as they are in force, through every door."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from records.accounts.models import DefaultRole
from records.sites.models import Site
from tests import make
from tests.documents.conftest import Stock
from tests.make import documents as docs

BELOW = (DefaultRole.READER, DefaultRole.STANDARD)
LIST = "/document/GetDocumentList"


@pytest.mark.parametrize("role", BELOW)
def test_a_document_reads_as_its_version_in_force(api_of: Callable[..., Any], stock: Stock, role: DefaultRole) -> None:
    body = api_of(role).get(f"/document/GetDocument/{stock.newer.pk}").json()
    facts = {name: body[name] for name in ("Version", "RecordStatus", "FileName", "FileType", "FileSize", "FileHash")}
    assert facts == {
        "Version": 1,
        "RecordStatus": "Issued",
        "FileName": "old.txt",
        "FileType": "text/plain",
        "FileSize": 3,
        "FileHash": docs.sha256(b"old"),
    }
    assert [(line["Version"], line["RecordStatus"]) for line in body["DocumentVersion"]] == [(1, "Issued")]
    assert "Signer" not in body


def test_a_manager_reads_the_newest_version(api: Any, stock: Stock) -> None:
    body = api.get(f"/document/GetDocument/{stock.newer.pk}").json()
    assert (body["Version"], body["RecordStatus"], body["FileName"]) == (2, "Awaiting Review", "draft.pdf")
    assert len(body["DocumentVersion"]) == 2
    assert api.get(f"/document/GetDocument/{stock.pending.pk}").status_code == 200


@pytest.mark.parametrize("role", BELOW)
def test_the_file_in_an_answer_is_that_of_the_version_in_force(
    api_of: Callable[..., Any], stock: Stock, role: DefaultRole
) -> None:
    client = api_of(role)
    body = json.loads(client.get(f"/document/GetDocument/{stock.newer.pk}?WithContent=1&WithURL=1").getvalue())
    assert body["FileContent"] == docs.base64_of(b"old")
    assert client.get(body["FileURL"].removeprefix("http://127.0.0.1:8000")).getvalue() == b"old"


@pytest.mark.parametrize("role", BELOW)
@pytest.mark.parametrize("path", ["GetDocument/{pending}", "GetDocumentVersion/{pending}?version=1"])
@pytest.mark.parametrize("more", ["", "WithContent=1", "WithURL=1"])
def test_a_document_that_never_came_into_force_does_not_exist(
    api_of: Callable[..., Any], stock: Stock, role: DefaultRole, path: str, more: str
) -> None:
    address = f"/document/{path.format(pending=stock.pending.pk)}"
    address = f"{address}{'&' if '?' in address else '?'}{more}" if more else address
    answer = api_of(role).get(address, **{"If-None-Match": "*"})
    assert (answer.status_code, answer.json()["Error"]) == (404, "NotFound")


@pytest.mark.parametrize("role", BELOW)
def test_versions_that_are_not_in_force_do_not_exist(
    api_of: Callable[..., Any], site: Site, stock: Stock, role: DefaultRole
) -> None:
    client, again = api_of(role), docs.make_document(site, b"first")
    docs.add_version(again, b"second")
    for hidden in (stock.waiting, docs.version_of(stock.pending), docs.version_of(again, 1)):
        assert client.get(f"/document/GetDocumentVersion/{hidden.pk}").status_code == 404, hidden
        path = f"/document/GetDocumentVersion/{hidden.document_id}?version={hidden.version}"
        assert client.get(path).status_code == 404, hidden
    body = client.get(f"/document/GetDocumentVersion/{docs.version_of(again, 2).pk}").json()
    assert (body["Version"], "Signer" in body) == (2, False)


@pytest.mark.parametrize("role", BELOW)
def test_lists_show_count_sort_filter_and_search_what_is_in_force(
    api_of: Callable[..., Any], stock: Stock, role: DefaultRole
) -> None:
    client = api_of(role)

    def names(**query: Any) -> list[str]:
        answer = client.get(LIST, query)
        assert answer.status_code == 200, answer.json()
        assert answer["X-Total-Count"] == str(len(answer.json()))
        return [row["FileName"] for row in answer.json()]

    assert names() == ["old.txt"]
    assert names(recordStatus="Issued") == names(fileType="TEXT/PLAIN") == names(search="old.t") == ["old.txt"]
    assert names(recordStatus="Awaiting Review") == names(fileType="application/pdf") == names(search="draft") == []
    assert names(name="Recall") == names(isArchived="any", search="Recall") == []
    for column in ("Version", "RecordStatus", "FileName", "FileSize", "FileHash", "FileType"):
        assert names(sort=column, order="desc") == ["old.txt"]


def test_pages_of_a_list_follow_the_order_that_is_shown(api_of: Callable[..., Any], site: Site) -> None:
    reviewer = docs.make_signer(site)
    for name, newer in (("b", "1"), ("c", "0"), ("a", "2"), ("d", "3")):
        document = docs.make_document(site, file_name=f"{name}.txt")
        docs.add_version(document, file_name=f"{newer}.txt", user_to_review=[reviewer])
    client, names, path = api_of(DefaultRole.READER), [], f"{LIST}?sort=FileName&limit=1"
    while path:
        answer = client.get(path)
        names += [row["FileName"] for row in answer.json()]
        path = answer.get("Link", "").partition(">")[0].removeprefix("<http://127.0.0.1:8000")
    assert names == ["a.txt", "b.txt", "c.txt", "d.txt"]
    assert [row["FileName"] for row in client.get(f"{LIST}?sort=FileName&startIndex=2").json()] == ["c.txt", "d.txt"]


def test_a_reader_and_a_manager_have_tags_of_their_own(api_of: Callable[..., Any], api: Any, stock: Stock) -> None:
    path = f"/document/GetDocument/{stock.newer.pk}"
    reader = api_of(DefaultRole.READER)
    tag = reader.get(path)["ETag"]
    assert reader.get(path, **{"If-None-Match": tag}).status_code == 304
    assert api.get(path, **{"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize("name", ["reviewer", "uploader"])
def test_signers_and_the_uploader_see_their_own_version(
    api_of: Callable[..., Any], site: Site, stock: Stock, name: str
) -> None:
    person = getattr(stock, name)
    make.give_role(person, site, DefaultRole.STANDARD)
    for role in person.memberships.filter(role__default_role=DefaultRole.MANAGER):
        role.delete()
    client = api_of()
    client.headers = make.make_key(site, user=person).headers
    assert client.get(f"/document/GetDocumentVersion/{stock.waiting.pk}").json()["FileName"] == "draft.pdf"
    body = client.get(f"/document/GetDocument/{stock.newer.pk}").json()
    assert (body["Version"], [line["Version"] for line in body["DocumentVersion"]]) == (1, [1, 2])
    assert client.get(f"/document/GetDocument/{stock.pending.pk}").json()["FileName"] == "recall.txt"
    assert {row["FileName"] for row in client.get(LIST).json()} == {"old.txt", "recall.txt"}


@pytest.mark.parametrize("role", BELOW)
def test_an_address_of_a_file_ends_with_the_right_to_see_the_version(
    api_of: Callable[..., Any], site: Site, stock: Stock, role: DefaultRole
) -> None:
    client = api_of()
    url = client.get(f"/document/GetDocumentVersion/{stock.waiting.pk}?WithURL=1").json()["FileURL"]
    path = url.removeprefix("http://127.0.0.1:8000")
    assert client.get(path).getvalue() == b"new draft"
    make.give_role(client.key.user, site, role)
    client.key.user.memberships.filter(role__default_role=DefaultRole.MANAGER).delete()
    assert client.get(path).status_code == 403
