"""GET /category/GetRating/<Id>."""

import uuid
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from records.reference.actions import add_entry, update_entry
from records.reference.models import Rating
from tests import make

pytestmark = pytest.mark.django_db

RESPONSES = [
    {"name": "Yes", "description": "In order", "score": Decimal("2.50")},
    {"name": "No", "score": Decimal(0), "fails": True},
    {"name": "Not applicable"},
]
BANDS = [
    {"from_score": Decimal(0), "to_score": Decimal("69.5"), "rating": "C", "result": "Fail"},
    {"from_score": Decimal("69.5"), "to_score": Decimal(100), "rating": "A", "result": "Pass"},
]


@pytest.fixture
def rating(site):
    values = {"name": "Yes or no", "code": "YN", "responses": RESPONSES, "bands": BANDS}
    return add_entry(Rating, values, author=make.SYSTEM, site_id=site.pk)


def path(rating):
    return f"/category/GetRating/{rating.pk}"


def test_a_rating_is_read_whole(api, rating):
    yes, no, not_applicable = rating.responses.values_list("pk", flat=True)
    lower, upper = rating.bands.values_list("pk", flat=True)
    assert api.get(path(rating)).json() == {
        "Id": str(rating.pk),
        "Name": "Yes or no",
        "Code": "YN",
        "Idx": 0,
        "IsArchived": False,
        "Response": [
            {"Id": str(yes), "Name": "Yes", "Description": "In order", "Score": 2.5, "Idx": 0, "Fails": False},
            {"Id": str(no), "Name": "No", "Description": "", "Score": 0, "Idx": 1, "Fails": True},
            {
                "Id": str(not_applicable),
                "Name": "Not applicable",
                "Description": "",
                "Score": None,
                "Idx": 2,
                "Fails": False,
            },
        ],
        "ScoreBand": [
            {"Id": str(lower), "From": 0, "To": 69.5, "Rating": "C", "Result": "Fail"},
            {"Id": str(upper), "From": 69.5, "To": 100, "Rating": "A", "Result": "Pass"},
        ],
    }


def test_a_response_that_left_the_rating_is_not_shown(api, rating):
    last = rating.responses.get(name="No")
    update_entry(rating, {"responses": [{"id": last.pk}]}, author=make.SYSTEM)
    assert [row["Name"] for row in api.get(path(rating)).json()["Response"]] == ["No"]


def test_a_rating_without_responses_and_bands_has_empty_arrays(api, site):
    bare = add_entry(Rating, {"name": "Bare"}, author=make.SYSTEM, site_id=site.pk)
    shape = api.get(path(bare)).json()
    assert (shape["Response"], shape["ScoreBand"]) == ([], [])


def test_a_rating_is_one_statement(api, rating):
    api.get(path(rating))
    with CaptureQueriesContext(connection) as queries:
        assert api.get(path(rating)).status_code == 200
    assert len(queries) == 1


def test_the_tag_changes_with_the_content_alone(api, rating):
    tag = api.get(path(rating))["ETag"]
    same_answer = api.get(path(rating), **{"If-None-Match": tag})
    assert (same_answer.status_code, same_answer.content, same_answer["ETag"]) == (304, b"", tag)
    update_entry(rating, {"bands": BANDS[1:]}, author=make.SYSTEM)
    new_answer = api.get(path(rating), **{"If-None-Match": tag})
    assert new_answer.status_code == 200
    assert new_answer["ETag"] != tag


def test_a_rating_of_another_site_or_of_none_is_not_found(api, other_site):
    foreign = add_entry(Rating, {"name": "Theirs"}, author=make.SYSTEM, site_id=other_site.pk)
    for key in (foreign.pk, uuid.uuid4()):
        response = api.get(f"/category/GetRating/{key}")
        assert (response.status_code, response.json()["Error"]) == (404, "NotFound")


def test_a_malformed_id_is_refused(api):
    response = api.get("/category/GetRating/abc")
    assert (response.status_code, response.json()["Error"]) == (400, "InvalidId")
