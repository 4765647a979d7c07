"""Part of a text is found by index on PostgreSQL, and the same rows are found on both databases."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext

from records.backoffice.lists import search
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.dashboard.search import KINDS
from records.sites import trigrams
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer

pytestmark = pytest.mark.django_db

MODELS = [model for model in apps.get_models() if hasattr(model, "SEARCHED")]


def postgresql() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite looks through the rows.")


def runs(text: str) -> list[str]:
    """Return the trigrams that the database computes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT larder_grams(%s)", [text])
        numbers = cursor.fetchone()[0]
    letters = (((number >> 42), (number >> 21) & 0x1FFFFF, number & 0x1FFFFF) for number in numbers)
    return ["".join(map(chr, run)) for run in letters]


@pytest.mark.parametrize(
    "text", ["", "a", "ab", "abc", "Olive oil", "Öl\nß€𝄞", "x" * 64 + "ab", "0123456789" * 13, "𝄞" * 70]
)
def test_the_runs_of_a_text_are_all_its_runs_of_three_letters(text: str) -> None:
    postgresql()
    assert runs(text) == [text[i : i + 3] for i in range(len(text) - 2)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_searched_column_has_its_index(model: Any) -> None:
    postgresql()
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s", [model._meta.db_table])
        definitions = dict(cursor.fetchall())
    for name in model.SEARCHED:
        definition = definitions[trigrams.index_name(model._meta.db_table, name)]
        field = model._meta.get_field(name)
        assert f"gin (larder_grams({'' if getattr(field, 'is_folded', False) else 'upper'}" in definition


def test_every_column_that_a_record_is_searched_by_is_indexed() -> None:
    columns = [(kind.model, kind.anywhere) for kind in KINDS]
    columns += [
        (model, page.search_fields)
        for model, page in admin.site._registry.items()
        if any(field.name == "site_sequence_id" for field in model._meta.concrete_fields) or model.__name__ == "User"
    ]
    assert len(columns) > 15
    missing = [
        (model.__name__, name) for model, names in columns for name in names if not trigrams._is_searched(model, name)
    ]
    assert not missing


@pytest.fixture
def customers(site: Any, other_site: Any) -> dict[str, Customer]:
    """Return customers of two sites by name."""
    names = ("Straße der Äpfel GmbH", "Apple & Sons 100%", "Pineapple Ltd", "Peach_House", "apple")
    records = {name: make_customer(site, name=name, code=f"C-{i}0{i}") for i, name in enumerate(names)}
    make_customer(other_site, name="Appleton", code="C-101")
    return records


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("APPLE", {"Apple & Sons 100%", "Pineapple Ltd", "apple"}),
        ("ppl sons", {"Apple & Sons 100%"}),
        ("ap", {"Apple & Sons 100%", "Pineapple Ltd", "apple"}),
        ("äpfel", {"Straße der Äpfel GmbH"}),
        ("A\u0308PFEL", {"Straße der Äpfel GmbH"}),
        ("strasse", {"Straße der Äpfel GmbH"}),
        ("100%", {"Apple & Sons 100%"}),
        ("h_h", {"Peach_House"}),
        ("c-101", {"Apple & Sons 100%"}),
        ("#2", {"Apple & Sons 100%"}),
        ("appleton", set()),
        ("ppl\x00e", set()),
        ("'; --", set()),
    ],
)
def test_a_search_finds_the_same_on_both_databases(
    site: Any, customers: dict[str, Customer], text: str, expected: set[str]
) -> None:
    rows = search(Customer.objects.filter(site=site), ("name_key", "code_key"), text)
    assert set(rows.values_list("name", flat=True)) == expected


def test_more_rows_than_the_index_gives_are_found_all_the_same(
    site: Any, customers: dict[str, Customer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigrams, "FEW", 1)
    rows = search(Customer.objects.filter(site=site), ("name_key", "code_key"), "apple")
    assert set(rows.values_list("name", flat=True)) == {"Apple & Sons 100%", "Pineapple Ltd", "apple"}


FILL = """
INSERT INTO customers_customer (id, site_id, site_sequence_id, is_archived, revision, created, last_modified, {columns})
SELECT gen_random_uuid(), %(site)s, 1000 + n, false, 1, now(), now(), {values} FROM generate_series(1, 4000) n
"""


def fill(site: Any) -> None:
    """Store 4,000 customers with one SQL statement."""
    expressions = {"name": "'Customer ' || md5(n::text)", "name_key": "'customer ' || md5(n::text)"}
    own_columns = {"id", "site_id", "site_sequence_id", "is_archived", "revision", "created", "last_modified"}
    columns: dict[str, str] = {}
    for field in Customer._meta.concrete_fields:
        if field.column and field.column not in own_columns and not field.null:
            columns[field.column] = expressions.get(field.column, "''")
    sql = FILL.format(columns=", ".join(columns), values=", ".join(columns.values()))
    with connection.cursor() as cursor:
        cursor.execute(sql.replace("%(site)s", "%s"), [site.pk])
        cursor.execute("ANALYZE customers_customer")


def test_postgresql_reads_a_part_of_a_name_from_the_index(site: Any) -> None:
    postgresql()
    fill(site)
    customer = make_customer(site, name="Anybody & Daughters", code="K-77-x")
    for text in ("ybody", "daught body", "77-x"):
        with CaptureQueriesContext(connection) as queries:
            rows = list(search(Customer.objects.filter(site=site), ("name_key", "code_key"), text))
        assert [row.pk for row in rows] == [customer.pk]
        assert len(queries) == 2
        for query in queries.captured_queries:
            with connection.cursor() as cursor:
                cursor.execute("EXPLAIN (COSTS OFF) " + query["sql"].replace("%", "%%"))
                plan = "\n".join(row[0] for row in cursor.fetchall())
            assert "Seq Scan" not in plan, plan


def test_a_long_description_is_searched_to_its_end(site: Any) -> None:
    complaint = make_complaint(site, complaint_description="ß" * 19_000 + " needle in the hay")
    names = Complaint.SEARCHED
    for text in ("eedle", "ßßß", "NEEDLE HAY"):
        assert [row.pk for row in search(Complaint.objects.filter(site=site), names, text)] == [complaint.pk]
    assert not search(Complaint.objects.filter(site=site), names, "needles").exists()
