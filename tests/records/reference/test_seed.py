"""The system lists' seed: complete, the same everywhere, and careful with what people changed."""

import csv
import re

import pytest
from django.core.management import call_command

from records.reference.lists import SYSTEM_LISTS
from records.reference.models import Country, Language, Nationality, NatureOfEmployment, Title
from records.reference.seed import ISO, fixed_id, seed_system_lists, system_entries

pytestmark = pytest.mark.django_db


def test_every_system_list_is_there_after_migrating():
    assert set(system_entries()) == set(SYSTEM_LISTS)
    for name, model in SYSTEM_LISTS.items():
        rows = list(model.objects.order_by("idx").values_list("id", "code", "name"))
        assert rows == list(system_entries()[name])


def test_ids_are_the_same_in_every_installation():
    assert str(fixed_id("NatureOfEmployment", "EMPLOYEE")) == "14fcef1c-452b-522e-aac8-d75d495d644a"
    assert NatureOfEmployment.objects.get(name="Agency").pk == fixed_id("NatureOfEmployment", "AGENCY")
    assert Nationality.objects.get(code="NZ").pk != Country.objects.get(code="NZ").pk


def test_nature_of_employment_is_employee_or_agency():
    assert list(NatureOfEmployment.objects.values_list("name", flat=True)) == ["Employee", "Agency"]


def test_countries_and_languages_carry_their_iso_codes_once():
    assert Country.objects.get(code="NZ").name == "New Zealand"
    assert Language.objects.get(code="el").name == "Greek"
    for file, pattern, least in (("countries.csv", "[A-Z]{2}", 249), ("languages.csv", "[a-z]{2}", 183)):
        with (ISO / file).open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        assert len({row["code"] for row in rows}) == len({row["name"] for row in rows}) == len(rows) >= least
        assert all(re.fullmatch(pattern, row["code"]) for row in rows)


def test_letters_with_accents_stand_among_those_without():
    names = list(Country.objects.values_list("name", flat=True))
    assert names.index("Åland Islands") == names.index("Albania") - 1


def test_seeding_again_adds_nothing_with_one_query(django_assert_num_queries):
    system_entries()
    with django_assert_num_queries(1):
        assert seed_system_lists() == 0


def test_seeding_adds_only_what_is_missing():
    Country.objects.filter(code__in=["FR", "DE"]).delete()
    Title.objects.get(code="DR").delete()
    assert seed_system_lists() == 3
    assert Country.objects.get(code="FR").pk == fixed_id("Country", "FR")


def test_seeding_leaves_renamed_and_archived_entries_alone():
    Country.objects.filter(code="TR").update(name="Turkey", name_key="turkey")
    Title.objects.filter(code="SIR").update(is_archived=True)
    assert seed_system_lists() == 0
    assert Country.objects.get(code="TR").name == "Turkey"
    assert Title.objects.get(code="SIR").is_archived


def test_seeding_yields_to_an_entry_that_people_made_under_the_same_name():
    Title.objects.get(code="MX").delete()
    own = Title.objects.create(name="mx", code="mx")
    assert seed_system_lists() == 0
    assert list(Title.objects.filter(name_key="mx")) == [own]


@pytest.mark.django_db(transaction=True)
def test_a_flush_brings_the_lists_back():
    call_command("flush", interactive=False, verbosity=0)
    assert Title.objects.count() == len(system_entries()["Title"])
