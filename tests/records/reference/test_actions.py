"""Writes to the lists: each leaves one entry in the trail, or nothing at all."""

import uuid
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from records.history.models import INSTALLATION, Change, Channel
from records.history.trail import Author
from records.reference.actions import add_entry, update_entry
from records.reference.models import Brand, Product, Rating, Title
from records.reference.ratings import band_of
from records.sites.models import Site
from tests import make

pytestmark = pytest.mark.django_db

AUTHOR = Author(id=uuid.uuid4(), name="Ada Quality", channel=Channel.BACKOFFICE)

RESPONSES = [
    {"name": "Yes", "description": "In order", "score": Decimal(2)},
    {"name": "Partly", "score": Decimal(1)},
    {"name": "Not applicable", "score": None},
]
BANDS = [
    {"from_score": Decimal(0), "to_score": Decimal(70), "rating": "C", "result": "Fail"},
    {"from_score": Decimal(70), "to_score": Decimal(100), "rating": "A", "result": "Pass"},
]


@pytest.fixture
def site():
    return Site.objects.create(name="Bakery")


@pytest.fixture
def rating(site):
    values = {"name": "Yes or no", "responses": RESPONSES, "bands": BANDS}
    return add_entry(Rating, values, author=AUTHOR, site_id=site.pk)


def rows(rating):
    return [
        {"id": row.pk, "name": row.name, "description": row.description, "score": row.score}
        for row in rating.responses.filter(is_archived=False)
    ]


def last_change():
    return Change.objects.latest("number")


def test_adding_an_entry_leaves_one_change_with_its_content(site):
    product = add_entry(Product, {"name": "Rye", "code": "R1"}, author=AUTHOR, site_id=site.pk, reason="New line")
    change = Change.objects.get()
    assert (change.site_id, change.record_id, change.record_name) == (site.pk, product.pk, "Rye")
    assert (change.operation, change.reason, change.author_id) == ("AddProduct", "New line", AUTHOR.id)
    values = {field["field"]: field["new"] for field in change.fields}
    assert values == {"name": "Rye", "code": "R1", "idx": 0, "is_archived": False}


def test_an_entry_of_a_shared_list_is_written_down_without_a_site():
    add_entry(Title, {"name": "Capt"}, author=AUTHOR)
    assert (Change.objects.get().site_id, Change.objects.get().chain) == (None, INSTALLATION)


def test_updating_an_entry_writes_down_only_what_changed(site):
    product = add_entry(Product, {"name": "Rye", "code": "R1"}, author=AUTHOR, site_id=site.pk)
    entry = update_entry(product, {"name": "Rye bread", "code": "R1"}, author=AUTHOR)
    assert Product.objects.get(name_key="rye bread") == entry
    assert last_change().fields == [{"field": "name", "old": "Rye", "new": "Rye bread"}]
    assert entry.last_modified >= product.last_modified


def test_an_update_that_changes_nothing_leaves_no_change(site, rating):
    before = Change.objects.count()
    stamp = Rating.objects.get(pk=rating.pk).last_modified
    update_entry(rating, {"name": "Yes or no", "responses": rows(rating)}, author=AUTHOR)
    assert Change.objects.count() == before
    assert Rating.objects.get(pk=rating.pk).last_modified == stamp


def test_archiving_and_restoring_can_be_repeated_and_are_written_down_once(site):
    product = add_entry(Product, {"name": "Rye"}, author=AUTHOR, site_id=site.pk)
    for _ in range(2):
        assert make.archive(product, reason="No longer made").is_archived
    for _ in range(2):
        assert not make.archive(product, archived=False, reason="Made again").is_archived
    operations = list(Change.objects.order_by("number").values_list("operation", "reason"))
    assert operations == [("AddProduct", ""), ("ArchiveProduct", "No longer made"), ("RestoreProduct", "Made again")]


def test_restoring_an_entry_whose_name_is_taken_is_refused_and_changes_nothing(site):
    old = make.archive(add_entry(Brand, {"name": "Sun"}, author=AUTHOR, site_id=site.pk))
    add_entry(Brand, {"name": "SUN"}, author=AUTHOR, site_id=site.pk)
    before = Change.objects.count()
    with pytest.raises(ValidationError):
        make.archive(old, archived=False)
    assert Change.objects.count() == before
    assert Brand.objects.get(pk=old.pk).is_archived


def test_an_entry_of_a_site_list_needs_its_site_and_known_fields(site):
    with pytest.raises(ValueError, match="per site"):
        add_entry(Product, {"name": "Rye"}, author=AUTHOR)
    with pytest.raises(TypeError, match="bands"):
        add_entry(Product, {"name": "Rye", "bands": []}, author=AUTHOR, site_id=site.pk)
    assert not Product.objects.exists()


def test_a_rating_is_added_with_its_responses_and_bands_in_one_change(rating):
    assert [(row.idx, row.name, row.score) for row in rating.responses.all()] == [
        (0, "Yes", Decimal(2)),
        (1, "Partly", Decimal(1)),
        (2, "Not applicable", None),
    ]
    assert [band.rating for band in rating.bands.all()] == ["C", "A"]
    change = Change.objects.get()
    children = [field["field"] for field in change.fields if "row" in field]
    assert children == [*["responses"] * 3, *["bands"] * 2]


def test_a_response_keeps_its_id_and_one_left_out_is_archived_and_can_come_back(rating):
    yes, partly, none = rows(rating)
    update_entry(rating, {"responses": [none, {**yes, "score": Decimal(3)}, {"name": "No", "score": 0}]}, author=AUTHOR)
    assert [row["name"] for row in rows(rating)] == ["Not applicable", "Yes", "No"]
    assert rating.responses.get(pk=yes["id"]).score == Decimal(3)
    assert rating.responses.get(pk=partly["id"]).is_archived
    fields = {(field["field"], field["row"]) for field in last_change().fields}
    assert ("responses.is_archived", str(partly["id"])) in fields
    update_entry(rating, {"responses": [partly]}, author=AUTHOR)
    assert [row["name"] for row in rows(rating)] == ["Partly"]


def test_a_band_that_is_left_out_is_removed_and_history_keeps_it(rating):
    upper = rating.bands.get(rating="A")
    update_entry(rating, {"bands": [{"id": upper.pk, "rating": "Good"}]}, author=AUTHOR)
    assert list(rating.bands.values_list("pk", "rating")) == [(upper.pk, "Good")]
    removal = next(field for field in last_change().fields if field["field"] == "bands")
    assert (removal["old"]["rating"], removal["new"]) == ("C", None)


@pytest.mark.parametrize(
    "values",
    [
        {"responses": [{"name": "Yes"}, {"name": "yes"}]},
        {"responses": [{"name": ""}]},
        {"responses": [{"name": "Yes", "score": Decimal(-1)}]},
        {"responses": [{"id": uuid.uuid4(), "name": "Yes"}]},
        {"bands": [{**BANDS[0], "to_score": Decimal(71)}, BANDS[1]]},
        {"bands": [{**BANDS[0], "from_score": Decimal(80)}]},
        {"bands": [{**BANDS[0], "to_score": Decimal(101)}]},
    ],
)
def test_faulty_responses_and_bands_are_refused_and_nothing_changes(rating, values):
    before = (rows(rating), list(rating.bands.values()), Change.objects.count())
    with pytest.raises(ValidationError):
        update_entry(rating, {"name": "Renamed", **values}, author=AUTHOR)
    assert (rows(rating), list(rating.bands.values()), Change.objects.count()) == before
    assert Rating.objects.get().name == "Yes or no"


@pytest.mark.parametrize(
    ("score", "expected"), [("0", "C"), ("69.99", "C"), ("70", "A"), ("100", "A"), ("100.01", None)]
)
def test_a_score_falls_into_the_higher_of_two_bands_that_touch(rating, score, expected):
    band = band_of(rating.bands.all(), Decimal(score))
    assert (band and band.rating) == expected


def test_a_duplicate_is_refused_by_the_database_and_told_together_with_other_faults(site):
    rye = add_entry(Product, {"name": "Rye"}, author=AUTHOR, site_id=site.pk)
    oat = add_entry(Product, {"name": "Oat"}, author=AUTHOR, site_id=site.pk)
    with pytest.raises(ValidationError) as error_info:
        add_entry(Product, {"name": "RYE"}, author=AUTHOR, site_id=site.pk)
    assert {error.code for error in error_info.value.error_dict["__all__"]} == {"Duplicate"}
    with pytest.raises(ValidationError) as error_info:
        update_entry(oat, {"name": "RYE", "idx": -1}, author=AUTHOR)
    assert {name: error.code for name, (error,) in error_info.value.error_dict.items()} == {
        "__all__": "Duplicate",
        "idx": "min_value",
    }
    with CaptureQueriesContext(connection) as queries:
        add_entry(Product, {"name": "Spelt"}, author=AUTHOR, site_id=site.pk)
    assert not [query for query in queries if "name_key" in query["sql"] and query["sql"].startswith("SELECT")]
    assert set(Product.objects.values_list("name", flat=True)) == {rye.name, "Oat", "Spelt"}
