"""GetListOfMaterial: order, paging, filters and what they cost."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from materials.serializers import MaterialSerializer
from tests import make
from tests.make.materials import make_category, make_material


def walk(api: Any, path: str) -> list[list[dict[str, Any]]]:
    """Follow the links of a list and return its pages."""
    pages = []
    while path:
        answer = api.get(path)
        assert answer.status_code == 200, answer.content
        pages.append(answer.json())
        link = answer.headers.get("Link", "")
        path = link.partition(">")[0].removeprefix("<").removeprefix("http://127.0.0.1:8000") if link else ""
    return pages


@pytest.fixture
def filled_client(materials: Any) -> Any:
    """Return the client of a site whose materials tie in every column and lack some values."""
    categories = [make_category(materials.site) for _ in range(2)]
    for number in range(11):
        make_material(
            materials.site,
            external_id="" if number % 3 == 0 else f"E{number}",
            name=f"Same {number % 2}",
            our_code="",
            description=["", "Dry", "Cold\n"][number % 3],
            country_of_origin=[[], ["NZ", "Ōtautahi"], ["NZ"]][number % 3],
            risk=["", "Low", "High"][number % 3],
            material_category=[None, *categories][number % 3],
            is_archived=number == 10,
        )
    return materials


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("sort", MaterialSerializer.Meta.fields)
def test_a_walk_meets_every_material_once_in_every_order(filled_client: Any, sort: str, order: str) -> None:
    pages = walk(filled_client, filled_client.at(limit=3, sort=sort.upper(), order=order))
    rows = [row for page in pages for row in page]
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    assert len({row["Id"] for row in rows}) == 10
    full_list = filled_client.get(filled_client.at(sort=sort, order=order)).json()
    assert rows == full_list
    for start in (0, 4, 9, 10):
        window = filled_client.get(filled_client.at(sort=sort, order=order, startIndex=start, limit=2)).json()
        assert window == full_list[start : start + 2]
    other = filled_client.get(filled_client.at(sort=sort, order="desc" if order == "asc" else "asc")).json()
    assert other == full_list[::-1]
    missing = [row[sort] is None for row in full_list]
    assert missing == sorted(missing, reverse=order == "desc")


def test_the_default_order_is_the_number(filled_client: Any) -> None:
    assert [row["siteSequenceId"] for row in filled_client.get(filled_client.at()).json()] == list(range(1, 11))


def test_filters_narrow_the_list_and_its_total(filled_client: Any) -> None:
    def numbers(**query: Any) -> list[int]:
        answer = filled_client.get(filled_client.at(**query))
        assert answer.status_code == 200, answer.content
        assert answer["X-Total-Count"] == str(len(answer.json()))
        return [row["siteSequenceId"] for row in answer.json()]

    assert numbers(externalId="e1") == [2]
    assert numbers(externalId="E1,E4") == [2, 5]
    assert numbers(search="ame 1") == [2, 4, 6, 8, 10]
    assert numbers(isArchived="TRUE") == [11]
    assert numbers(modifiedSince="2999-01-01") == []
    assert len(numbers(modifiedSince="2000-01-01")) == 10
    assert numbers(externalId="none") == []
    make_material(filled_client.site, external_id="")
    assert numbers(externalId=" ") == []


def test_a_sort_by_what_is_no_field_is_refused(filled_client: Any) -> None:
    for sort in ("nmae", "", "name,risk", "-name", "external_id"):
        answer = filled_client.get(filled_client.at(sort=sort))
        assert (answer.status_code, answer.json()["Error"]) == (400, "InvalidParameter")


def test_a_page_costs_a_fixed_number_of_queries(materials: Any) -> None:
    # On PostgreSQL a search asks first which few rows come into question.
    first = 1 if connection.vendor == "postgresql" else 0
    for _ in range(2):
        for _ in range(15):
            make_material(materials.site)
        materials.get(materials.at())
        for query, expected in (({}, 2), ({"limit": 2}, 2), ({"search": "Mat"}, 2 + first)):
            with CaptureQueriesContext(connection) as queries:
                materials.get(materials.at(**query))
            assert len(queries) == expected


@pytest.mark.parametrize(
    "parameter",
    [
        "startIndex=-1",
        "startIndex=9223372036854775808",
        "limit=0",
        "limit=1001",
        "order=up",
        "isArchived=x",
        "modifiedSince=x",
        "entityFolderId=x",
        "cursor=x",
        "search=%00",
    ],
)
def test_a_wrong_parameter_is_400(materials: Any, parameter: str) -> None:
    answer = materials.get(materials.at() + "&" + parameter)
    assert (answer.status_code, answer.json()["Error"]) == (400, "InvalidParameter")


def test_an_unknown_parameter_names_the_nearest(materials: Any) -> None:
    answer = materials.get(materials.at(exernalId="x"))
    assert (answer.status_code, answer.json()["Error"]) == (400, "UnknownParameter")
    assert "externalId" in answer.json()["Message"]


def test_materials_of_other_sites_are_never_listed(materials: Any, other_site: Any) -> None:
    make_material(other_site, external_id="F")
    mine = make_material(materials.site, external_id="F")
    assert [row["Id"] for row in materials.get(materials.at(externalId="F")).json()] == [str(mine.pk)]
    make.give_role(materials.key.user, other_site, make.DefaultRole.READER)
    (row,) = materials.get(f"/materials/?siteId={other_site.pk}").json()
    assert row["Id"] != str(mine.pk)
