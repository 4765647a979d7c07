"""PostMaterial with one material and with an array of them."""

import json
import uuid
from typing import Any

from materials.models import Material
from records.history.models import Change
from records.history.verification import verify
from records.sites.models import Entity, SiteSequence
from tests import make
from tests.make.materials import make_category, make_material


def test_an_added_material_reads_back_whole(materials: Any) -> None:
    folder, category = make.make_folder(materials.site, Entity.MATERIAL), make_category(materials.site)
    answer = materials.upsert(
        {
            "externalId": "SAP-1",
            "name": "Flour",
            "ourCode": "F1",
            "supplierCode": "S1",
            "description": "Wheat\r\nflour",
            "materialCategoryId": str(category.pk).upper(),
            "entityFolderId": str(folder.pk),
            "countryOfOrigin": ["NZ", "AU"],
            "risk": "low",
            "reasonForChange": "New supplier",
        }
    )
    assert answer.status_code == 200, answer.content
    key = answer.json()["Id"]
    assert answer.json() == {"Error": "", "Message": "Success.", "Id": key}
    shape = materials.get(materials.at("SAP-1")).json()
    user = str(materials.key.user.pk)
    assert shape == {
        "Id": key,
        "externalId": "SAP-1",
        "name": "Flour",
        "siteSequenceId": 1,
        "ourCode": "F1",
        "supplierCode": "S1",
        "description": "Wheat\nflour",
        "materialCategoryId": str(category.pk),
        "entityFolderId": str(folder.pk),
        "countryOfOrigin": ["NZ", "AU"],
        "risk": "Low",
        "reasonForChange": "New supplier",
        "created": shape["created"],
        "lastModified": shape["created"],
        "createdBy": user,
        "lastModifiedBy": user,
        "isArchived": False,
    }
    assert list(shape)[:4] == ["Id", "externalId", "name", "siteSequenceId"]
    assert shape["created"].endswith("Z")
    assert len(shape["created"]) == 24
    change = Change.objects.get(record_id=key)
    assert (change.operation, change.reason, change.author_id) == (
        "PostMaterial",
        "New supplier",
        materials.key.user.pk,
    )
    entries = {entry["field"]: entry["new"] for entry in change.fields}
    assert entries["material_category"] == {"id": str(category.pk), "name": category.name}
    assert entries["site_sequence_id"] == 1
    assert "reason_for_change" not in entries


def test_a_material_with_the_least_there_is_shows_every_field(materials: Any) -> None:
    assert materials.upsert({"externalId": "", "name": ""}).status_code == 200
    (shape,) = materials.get(materials.at()).json()
    empty = {name: shape[name] for name in ("externalId", "name", "ourCode", "risk", "reasonForChange")}
    assert empty == {"externalId": "", "name": "", "ourCode": "", "risk": "", "reasonForChange": ""}
    assert (shape["materialCategoryId"], shape["countryOfOrigin"], shape["isArchived"]) == (None, [], False)


def test_posting_an_external_id_again_changes_the_same_material(materials: Any) -> None:
    first = materials.upsert({"externalId": "A", "name": "One", "ourCode": "C", "reasonForChange": "first"}).json()[
        "Id"
    ]
    again = materials.upsert({"externalId": "A", "name": "Two", "reasonForChange": "second"})
    assert again.json()["Id"] == first
    assert again["ETag"] == '"2"'
    shape = materials.get(materials.at("A")).json()
    assert (shape["name"], shape["ourCode"], shape["reasonForChange"]) == ("Two", "C", "second")
    last = Change.objects.filter(record_id=first).latest("number")
    assert (last.reason, last.fields) == ("second", [{"field": "name", "old": "One", "new": "Two"}])


def test_an_upsert_that_changes_nothing_leaves_no_trace(materials: Any) -> None:
    key = materials.upsert({"externalId": "A", "name": "One", "reasonForChange": "first"}).json()["Id"]
    shape = materials.get(materials.at("A")).json()
    assert materials.upsert({**shape, "reasonForChange": "echo"}).json()["Id"] == key
    assert materials.get(materials.at("A")).json() == shape
    assert Change.objects.filter(record_id=key).count() == 1


def test_external_ids_keep_their_case_and_an_empty_one_always_adds(materials: Any) -> None:
    keys = [materials.upsert({"externalId": one, "name": "x"}).json()["Id"] for one in ("a", "A", "", "", " a")]
    assert len(set(keys)) == 5


def test_null_clears_an_optional_field_and_is_refused_for_a_required_one(materials: Any) -> None:
    materials.upsert({"externalId": "A", "name": "x", "risk": "High", "countryOfOrigin": ["NZ"], "ourCode": "c"})
    answer = materials.upsert(
        {"externalId": "A", "name": "x", "risk": None, "countryOfOrigin": None, "ourCode": "", "isArchived": None}
    )
    assert answer.status_code == 200, answer.content
    shape = materials.get(materials.at("A")).json()
    assert (shape["risk"], shape["countryOfOrigin"], shape["ourCode"], shape["isArchived"]) == ("", [], "", False)
    answer = materials.upsert({"externalId": None, "name": None})
    assert {(one["Field"], one["Code"]) for one in answer.json()["Fields"]} == {
        ("externalId", "RequiredField"),
        ("name", "RequiredField"),
    }


def test_the_id_finds_the_material_and_may_rename_its_external_id(materials: Any) -> None:
    key = materials.upsert({"externalId": "A", "name": "x"}).json()["Id"]
    answer = materials.upsert({"Id": key.upper(), "externalId": "B", "name": "x"})
    assert answer.json()["Id"] == key
    assert materials.get(materials.at("A")).status_code == 404
    assert materials.get(materials.at("B")).json()["Id"] == key
    assert materials.upsert({"Id": "", "externalId": "B", "name": "y"}).json()["Id"] == key


def test_an_id_of_another_site_is_as_unknown_as_one_that_does_not_exist(materials: Any, other_site: Any) -> None:
    foreign = make_material(other_site)
    answers = [
        materials.upsert({"Id": str(key), "externalId": "A", "name": "x"}).json() for key in (foreign.pk, uuid.uuid4())
    ]
    assert [one["Error"] for one in answers] == ["NotFound", "NotFound"]
    assert answers[0]["Message"] == answers[1]["Message"]
    foreign.refresh_from_db()
    assert foreign.external_id != "A"
    assert not Material.objects.filter(site=materials.site).exists()


def test_an_external_id_that_another_material_has_or_has_as_its_id_is_409(materials: Any) -> None:
    first = materials.upsert({"externalId": "A", "name": "x"}).json()["Id"]
    second = materials.upsert({"externalId": "B", "name": "x"}).json()["Id"]
    for external_id, target in (("A", second), (first, second), (first.upper(), second), (first, None)):
        body = {"externalId": external_id, "name": "x", **({"Id": target} if target else {})}
        answer = materials.upsert(body)
        assert (answer.status_code, answer.json()["Error"]) == (409, "Duplicate"), body
    assert materials.upsert({"Id": first, "externalId": first, "name": "x"}).status_code == 200
    assert Material.objects.count() == 2


def test_is_archived_archives_and_restores_and_stays_where_it_is_left_out(materials: Any) -> None:
    key = materials.upsert({"externalId": "A", "name": "x", "isArchived": True}).json()["Id"]
    assert materials.get(materials.at("A")).json()["isArchived"] is True
    assert materials.get(materials.at())["X-Total-Count"] == "0"
    assert materials.get(materials.at(isArchived="true"))["X-Total-Count"] == "1"
    materials.upsert({"externalId": "A", "name": "y"})
    assert materials.get(materials.at("A")).json()["isArchived"] is True
    assert materials.upsert({"externalId": "A", "name": "y", "isArchived": False}).json()["Id"] == key
    assert materials.get(materials.at())["X-Total-Count"] == "1"
    sequence = SiteSequence.objects.get(site=materials.site, entity=Entity.MATERIAL)
    assert (sequence.last, sequence.archived) == (1, 0)


def test_all_faults_of_a_material_are_named_at_once(materials: Any, other_site: Any) -> None:
    body = {
        "externalId": "x" * 256,
        "Name": "x",
        "risk": "Extreme",
        "countryOfOrigin": ["NZ", 5],
        "ourCode": "\u0000",
        "materialCategoryId": str(make_category(other_site).pk),
        "entityFolderId": "abc",
        "reasonForChange": "x" * 1001,
        "isArchived": "yes",
    }
    answer = materials.upsert(body)
    assert answer.status_code == 400
    assert {(one["Field"], one["Code"]) for one in answer.json()["Fields"]} == {
        ("externalId", "ValueTooLong"),
        ("Name", "UnknownField"),
        ("name", "RequiredField"),
        ("risk", "InvalidValue"),
        ("countryOfOrigin[1]", "InvalidValue"),
        ("ourCode", "InvalidValue"),
        ("materialCategoryId", "InvalidReference"),
        ("entityFolderId", "InvalidReference"),
        ("reasonForChange", "ValueTooLong"),
        ("isArchived", "InvalidValue"),
    }
    assert not Material.objects.exists()


def test_references_must_be_of_the_site_of_the_list_and_not_archived(materials: Any, other_site: Any) -> None:
    site = materials.site
    wrong = [
        ("materialCategoryId", make_category(other_site).pk),
        ("materialCategoryId", make_category(site, is_archived=True).pk),
        ("materialCategoryId", uuid.uuid4()),
        ("entityFolderId", make.make_folder(other_site, Entity.MATERIAL).pk),
        ("entityFolderId", make.make_folder(site, Entity.ITEM).pk),
        ("entityFolderId", uuid.uuid4()),
    ]
    for name, key in wrong:
        answer = materials.upsert({"externalId": "A", "name": "x", name: str(key)})
        faults = [(one["Field"], one["Code"]) for one in answer.json()["Fields"]]
        assert (answer.status_code, faults) == (400, [(name, "InvalidReference")])


def test_an_archived_category_stays_valid_on_a_material_that_has_it(materials: Any) -> None:
    category = make_category(materials.site)
    body = {"externalId": "A", "name": "x", "materialCategoryId": str(category.pk)}
    materials.upsert(body)
    category.is_archived = True
    category.save()
    assert materials.upsert({**body, "name": "y"}).status_code == 200
    assert materials.upsert({**body, "externalId": "B"}).status_code == 400


def test_each_row_of_an_array_stands_alone_and_is_answered_in_order(materials: Any) -> None:
    key = materials.upsert({"externalId": "K", "name": "kept"}).json()["Id"]
    rows = [
        {"externalId": "A", "name": "one"},
        {"externalId": "B"},
        "no object",
        {"externalId": "K", "name": "changed"},
        {"externalId": "A", "name": "two"},
        {"externalId": key, "name": "three"},
        {"Id": str(uuid.uuid4()), "externalId": "C", "name": "x"},
        {"externalId": 7, "name": "x", "nmae": 1},
    ]
    answer = materials.upsert(rows)
    assert answer.status_code == 200, answer.content
    results = answer.json()
    assert [set(one) for one in results] == [{"externalId", "Error", "Message", "Id", "Outcome", "Fields"}] * len(rows)
    assert [(one["externalId"], one["Error"]) for one in results] == [
        ("A", ""),
        ("B", "ValidationFailed"),
        ("", "ValidationFailed"),
        ("K", ""),
        ("A", ""),
        (key, "Duplicate"),
        ("C", "NotFound"),
        ("", "ValidationFailed"),
    ]
    assert results[3]["Id"] == key
    assert results[0]["Id"] == results[4]["Id"]
    assert "externalId" in results[7]["Message"]
    assert "nmae" in results[7]["Message"]
    assert {one["Message"] for one in results if not one["Error"]} == {"Success."}
    assert {one["Id"] for one in results if one["Error"]} == {""}
    assert materials.get(materials.at("A")).json()["name"] == "two"
    assert Change.objects.filter(record_id=results[0]["Id"]).count() == 2
    assert Change.objects.filter(record_id=key).count() == 2
    assert list(Material.objects.order_by("site_sequence_id").values_list("site_sequence_id", flat=True)) == [1, 2]


def test_external_ids_can_change_hands_within_one_array(materials: Any) -> None:
    first, second = (materials.upsert({"externalId": one, "name": one}).json()["Id"] for one in ("A", "B"))
    rows = [
        {"Id": first, "externalId": "C", "name": "first"},
        {"Id": second, "externalId": "A", "name": "second"},
        {"externalId": "B", "name": "third"},
    ]
    results = materials.upsert(rows).json()
    assert [one["Error"] for one in results] == ["", "", ""]
    names = {row["externalId"]: row["name"] for row in materials.get(materials.at()).json()}
    assert names == {"C": "first", "A": "second", "B": "third"}


def test_an_array_holds_up_to_500_materials_and_nothing_else(materials: Any) -> None:
    rows = [{"externalId": str(number), "name": "x"} for number in range(501)]
    answer = materials.upsert(rows)
    assert (answer.status_code, answer.json()["Error"]) == (400, "ValidationFailed")
    assert not Material.objects.exists()
    assert materials.upsert([]).json() == []
    assert len(materials.upsert(rows[:500]).json()) == 500
    assert list(Material.objects.order_by("site_sequence_id").values_list("site_sequence_id", flat=True)) == list(
        range(1, 501)
    )
    assert Change.objects.filter(model="materials.Material").count() == 500
    for body in (b"", b"5", b'"x"', b"null", b"[1", b"[" * 20000):
        answer = materials.upsert(body)
        assert (answer.status_code, answer.json()["Error"]) == (400, "MalformedJson"), body[:10]


def test_many_rows_cost_as_many_statements_as_few(materials: Any, django_assert_max_num_queries: Any) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    categories = [make_category(materials.site) for _ in range(3)]
    folders = [make.make_folder(materials.site, Entity.MATERIAL) for _ in range(3)]

    def rows(count: int, name: str, pick: int) -> list[dict[str, Any]]:
        return [
            {
                "externalId": f"E{number}",
                "name": name,
                "materialCategoryId": str(categories[(number + pick) % 3].pk),
                "entityFolderId": str(folders[(number + pick) % 3].pk),
            }
            for number in range(count)
        ]

    counts = []
    for count in (5, 40):
        for name, pick in (("new", 0), ("changed", 1)):
            with CaptureQueriesContext(
                connection,
            ) as queries:
                assert all(one["Error"] == "" for one in materials.upsert(rows(count, name, pick)).json())
            counts.append(len(queries))
    assert counts[2] <= counts[0] + 2
    assert counts[3] == counts[1]


WRONG = [None, 5, -1, 1.5, True, "", "x" * 20_001, "a\u0000b", [], [1], {}, {"Id": 1}, [["x"]], 10**30, "abc", "\ud800"]


def test_no_value_of_any_field_breaks_the_operation(materials: Any) -> None:
    from materials.serializers import MaterialSerializer

    names = MaterialSerializer.Meta.fields
    rows = [
        {"externalId": f"{name}-{at}", "name": "x", name: value} for name in names for at, value in enumerate(WRONG)
    ]
    answer = materials.send("POST", materials.at(), json.dumps(rows))
    if answer.status_code == 400:  # A lone surrogate is no JSON text.
        assert answer.json()["Error"] == "MalformedJson"
        rows = [row for row in rows if "\ud800" not in row.values()]
        answer = materials.send("POST", materials.at(), json.dumps(rows))
    assert answer.status_code == 200, answer.content
    results = answer.json()
    assert len(results) == len(rows)
    assert {one["Error"] for one in results} == {"", "ValidationFailed"}
    assert Material.objects.count() == len({one["Id"] for one in results} - {""})
    for row in rows[:: len(WRONG) // 2]:
        assert materials.send("POST", materials.at(), json.dumps(row)).status_code in (200, 400)


def test_a_row_that_is_no_object_is_refused_in_a_plain_sentence(materials: Any) -> None:
    results = materials.upsert([5, None, []]).json()
    assert {one["Message"] for one in results} == {"Each entry of the array must be an object."}


def test_texts_of_an_array_are_stored_as_they_were_sent(materials: Any) -> None:
    texts = ['"', "\\", '\\"', "{a,b}", "NULL", "null", "a\nb\tc", "Käse 🧀", "'", "a, b", "%s", "$1", "{}"]
    inputs = [{"externalId": f"E {text}", "name": text, "countryOfOrigin": ["NZ"]} for text in texts]
    for description in ("first", 'second "{}"\\'):
        rows = [{**row, "description": description} for row in inputs]
        assert {row["Error"] for row in materials.upsert(rows).json()} == {""}
        shapes = materials.get(materials.at()).json()
        assert [(row["externalId"], row["name"], row["description"]) for row in shapes] == [
            (f"E {text}", text, description) for text in texts
        ]
        assert {tuple(row["countryOfOrigin"]) for row in shapes} == {("NZ",)}
    assert not verify().faults
