"""AddItem, GetItem, GetItemList, UpdateItem and archiving."""

import uuid
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError

from records.history.models import Change
from records.items.models import Item
from records.sites.models import Entity
from tests import make
from tests.make.items import make_item

ADD = "/item/AddItem"
GET = "/item/GetItem/"
LIST = "/item/GetItemList"
UPDATE = "/item/UpdateItem/"


def test_an_added_item_reads_back_whole(api: Any) -> None:
    body = {
        "Name": "Metal detector",
        "Code": "MD-2",
        "SerialNumber": "SN 00042",
        "Location": "Packing line 2",
        "Notes": "Calibrate weekly.\nSee the log.",
        "EntityFolderId": str(make.make_folder(api.key.site, Entity.ITEM).pk),
    }
    answer = api.post(ADD, body)
    assert answer.status_code == 200, answer.content
    key = answer.json()["Id"]
    assert answer.json() == {"Error": "", "Message": "Success.", "Id": key}
    shape = api.get(GET + key).json()
    user = str(api.key.user.pk)
    assert shape == {
        **body,
        "Id": key,
        "SiteSequenceId": 1,
        "Created": shape["Created"],
        "CreatedBy": user,
        "LastModified": shape["Created"],
        "LastModifiedBy": user,
    }
    assert Change.objects.get(record_id=key).operation == "AddItem"


def test_a_name_is_needed_on_an_add_and_cannot_be_cleared(api: Any) -> None:
    for body in ({"Code": "x"}, {"Name": None}, {"Name": "  "}):
        answer = api.post(ADD, body)
        assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [("Name", "RequiredField")]
    key = api.post(ADD, {"Name": "Scale"}).json()["Id"]
    for empty in (None, "", "\t"):
        answer = api.put(UPDATE + key, {"Name": empty})
        assert answer.status_code == 400
        assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [("Name", "RequiredField")]
    assert Item.objects.get(pk=key).name == "Scale"


def test_an_update_keeps_what_it_does_not_name(api: Any) -> None:
    key = api.post(ADD, {"Name": "Scale", "Code": "S1", "Notes": "a\r\nb"}).json()["Id"]
    before = api.get(GET + key).json()
    assert before["Notes"] == "a\nb"
    assert api.put(UPDATE + key, {"Location": "Store", "Code": None}).status_code == 200
    after = api.get(GET + key).json()
    assert after == {**before, "Location": "Store", "Code": "", "LastModified": after["LastModified"]}
    assert api.put(UPDATE + key, after).status_code == 200
    assert Change.objects.filter(record_id=key).count() == 2


def test_lists_find_by_code_serial_number_and_place(api: Any) -> None:
    site = api.key.site
    make_item(site, name="Scale", code="S1", serial_number="SN-1", location="Store")
    make_item(site, name="Oven", code="O1", serial_number="SN-2", location="STORE")

    def numbers(**query: Any) -> list[int]:
        return [row["SiteSequenceId"] for row in api.get(LIST, query).json()]

    assert numbers(code="s1") == [1]
    assert numbers(serialNumber=["sn-2", "SN-1"]) == [1, 2]
    assert numbers(serialNumber="sn-2,SN-1") == []
    assert numbers(location="store") == [1, 2]
    assert numbers(location="stor") == []
    assert numbers(search="ove") == [2]
    assert numbers(sort="name") == [2, 1]


def test_archiving_an_item_needs_a_reason_and_can_be_undone(api: Any) -> None:
    site = api.key.site
    item = make_item(site)
    with pytest.raises(ValidationError):
        make.archive(item, reason=" ")
    make.archive(item, reason="Scrapped")
    assert api.get(LIST).json() == []
    assert api.get(f"{GET}{item.pk}").status_code == 200
    make.archive(item, archived=False, reason="Found again")
    assert len(api.get(LIST).json()) == 1
    changes = Change.objects.filter(record_id=item.pk).order_by("number")
    assert [change.reason for change in changes] == ["", "Scrapped", "Found again"]


def test_a_text_filter_finds_any_of_many_values_in_any_case(api: Any) -> None:
    site = api.key.site
    ids = {str(make_item(site, name="One", code=code).pk) for code in ("md-1", "ÖL 2", "a,b", "no\u00a0break")}
    make_item(site, name="Other", code="MD-9")
    many = ["MD-1", "öl 2", "A,B", "NO\u00a0BREAK", *(f"x{number}" for number in range(1200))]
    answer = api.get(LIST, {"code": many})
    assert answer.status_code == 200, answer.content
    assert {item["Id"] for item in answer.json()} == ids
    assert answer.headers["X-Total-Count"] == "4"


@pytest.mark.parametrize(("order", "front"), [("asc", "a"), ("desc", "z")])
def test_a_walk_sorted_by_long_texts_goes_on_where_it_was_whatever_changes_meanwhile(
    api: Any, order: str, front: str
) -> None:
    ids = [str(make_item(api.key.site, notes=letter + "\U0001f35e" * 19_999).pk) for letter in "bcd"]
    path, ids_walked = f"{LIST}?limit=1&sort=Notes&order={order}", list[str]()
    while path:
        assert len(path) < 2_000
        answer = api.get(path)
        ids_walked += [item["Id"] for item in answer.json()]
        path = answer.headers.get("Link", "").partition(">")[0].removeprefix("<" + settings.BASE_URL)
        assert bool(path) == ("cursor=" in path)
        # The row after which the next page starts moves to the front, and another one comes there.
        assert api.put(UPDATE + ids_walked[-1], {"Notes": front}).status_code == 200
        make_item(api.key.site, notes=front)
    assert ids_walked == (ids if order == "asc" else ids[::-1])


def test_long_texts_that_begin_alike_are_listed_by_their_ids(api: Any) -> None:
    ids = sorted(str(make_item(api.key.site, notes="a" * 300 + letter).pk) for letter in "cab")
    assert [item["Id"] for item in api.get(f"{LIST}?sort=Notes").json()] == ids


def test_the_link_to_the_next_page_is_no_longer_for_its_commas(api: Any) -> None:
    folder = make.make_folder(api.key.site, Entity.ITEM)
    for _ in range(2):
        make_item(api.key.site, entity_folder=folder)
    query = "?limit=1&entityFolderId=" + ",".join([str(folder.pk), *(str(uuid.uuid4()) for _ in range(120))])
    link = api.get(LIST + query).headers["Link"]
    assert len(link) < len(query) + 350
    following = link[1:].partition(">")[0].removeprefix(settings.BASE_URL)
    assert api.get(following).headers["X-Total-Count"] == "2"
