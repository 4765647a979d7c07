"""The registry of lists, what keeps a list free of doubles, and finding an entry by its beginning."""

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction

from records.reference.lists import LISTS, SITE_LISTS, SYSTEM_LISTS, entries_at, starting_with
from records.reference.models import Country, Product, Title
from records.sites.models import Site

pytestmark = pytest.mark.django_db


@pytest.fixture
def site():
    return Site.objects.create(name="Bakery")


@pytest.fixture
def other_site():
    return Site.objects.create(name="Dairy")


def names(rows):
    return [row.name for row in rows]


def test_the_registry_holds_every_list_of_the_decisions():
    assert list(SYSTEM_LISTS) == [
        "Title",
        "NatureOfEmployment",
        "Nationality",
        "Country",
        "Language",
        "LanguageProficiency",
        "EducationResult",
    ]
    assert list(SITE_LISTS) == [
        "Product",
        "Brand",
        "ProductionUnit",
        "Nonconformance",
        "Cause",
        "ComplaintSource",
        "ComplaintMethod",
        "Department",
        "MaterialCategory",
        "Checklist",
        "UnitOfMeasure",
        "Rating",
    ]
    assert {**SYSTEM_LISTS, **SITE_LISTS} == LISTS


def test_a_site_sees_its_own_entries_and_the_shared_ones(site, other_site):
    Product.objects.create(site=site, name="Rye bread")
    Product.objects.create(site=other_site, name="Butter")
    assert names(entries_at(Product, site.pk)) == ["Rye bread"]
    assert entries_at(Title, site.pk).count() == Title.objects.count()


@pytest.mark.parametrize("model", SITE_LISTS.values())
def test_each_site_list_refuses_an_active_double_in_any_case(model, site, other_site):
    model.objects.create(site=site, name="Crème", code="C1")
    model.objects.create(site=other_site, name="Crème", code="C1")
    for name, code in (("CRÈME", "c1"), ("Other", "c1")):
        double = model(site=site, name=name, code=code)
        with pytest.raises(ValidationError) as error_info:
            double.full_clean()
        assert {error.code for error in error_info.value.error_dict["__all__"]} == {"Duplicate"}
        with pytest.raises(IntegrityError), transaction.atomic():
            double.save()


def test_two_products_may_share_a_name_when_their_codes_differ(site):
    Product.objects.create(site=site, name="Bar", code="50G")
    Product(site=site, name="Bar", code="100G").full_clean()
    Product.objects.create(site=site, name="Bar", code="100G")
    assert Product.objects.count() == 2


def test_an_archived_entry_leaves_its_name_free(site):
    Product.objects.create(site=site, name="Bar", code="1", is_archived=True)
    Product.objects.create(site=site, name="bar", code="1")
    assert Product.objects.filter(name_key="bar").count() == 2


@pytest.mark.parametrize("name", ["", "   ", "a\x00b", "x" * 256])
def test_a_name_that_is_blank_too_long_or_holds_control_characters_is_refused(site, name):
    with pytest.raises(ValidationError) as error_info:
        Product(site=site, name=name).full_clean()
    assert list(error_info.value.error_dict) == ["name"]


def test_an_entry_is_found_by_the_beginning_of_its_name_or_code_in_any_case(site, other_site):
    rows = [
        Product(site=site, name="Éclair", code="P-10"),
        Product(site=site, name="Eclipse", code=""),
        Product(site=site, name="100% rye", code="P-20"),
        Product(site=site, name="Old éclair", code="E9"),
        Product(site=site, name="Éclair of old", code="X1", is_archived=True),
        Product(site=other_site, name="Éclair", code="P-10"),
    ]
    Product.objects.bulk_create(rows)
    entries = entries_at(Product, site.pk)
    assert names(starting_with(entries, "éCLAIR")) == ["Éclair"]
    assert names(starting_with(entries, "ecl")) == ["Eclipse"]
    assert names(starting_with(entries, "p-")) == ["100% rye", "Éclair"]
    assert names(starting_with(entries, "100%")) == ["100% rye"]
    assert names(starting_with(entries, "%")) == []
    assert names(starting_with(entries, "_")) == []
    assert len(starting_with(entries, " ")) == 4


def test_the_folded_columns_answer_the_whole_and_within_lookups(site):
    Product.objects.bulk_create([Product(site=site, name=name) for name in ("Straße 100%", "Strasse", "STRASSE x")])
    assert names(Product.objects.filter(name_key__whole_in=[" strasse "])) == ["Strasse"]
    assert names(Product.objects.filter(name_key__within="STRAß").order_by("name")) == [
        "STRASSE x",
        "Strasse",
        "Straße 100%",
    ]
    assert names(Product.objects.filter(name_key__within="0%")) == ["Straße 100%"]


def test_finding_by_the_beginning_reads_an_index(site):
    Product.objects.bulk_create(
        [Product(site=site, name=f"Loaf {number}", code=f"L{number}") for number in range(3000)]
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    plan = starting_with(entries_at(Product, site.pk), "loaf 29")[:20].explain()
    assert "product_name_once" in plan, plan
    assert names(starting_with(entries_at(Product, site.pk), "l2999")) == ["Loaf 2999"]


def test_keys_are_folded_when_entries_are_made_in_bulk():
    country = Country.objects.get(code="AX")
    assert (country.name_key, country.code_key) == ("åland islands", "ax")
