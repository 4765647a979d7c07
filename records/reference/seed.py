"""The entries of the system lists, with fixed ids, and the seeding of those that an installation still lacks."""

import csv
import uuid
from functools import cache
from pathlib import Path
from typing import Any

from django.apps import apps as installed
from django.db import DEFAULT_DB_ALIAS, models

NAMESPACE = uuid.UUID("cb96a42e-6652-53ab-8f37-76d62ca4c73e")
"""The name space of the fixed ids. It never changes, because integrators store the ids."""

ISO = Path(__file__).parent / "iso"

SHORT_LISTS: dict[str, tuple[tuple[str, str], ...]] = {
    "Title": (
        ("MR", "Mr"),
        ("MRS", "Mrs"),
        ("MS", "Ms"),
        ("MISS", "Miss"),
        ("MX", "Mx"),
        ("DR", "Dr"),
        ("PROF", "Prof"),
        ("REV", "Rev"),
        ("SIR", "Sir"),
        ("DAME", "Dame"),
    ),
    "NatureOfEmployment": (("EMPLOYEE", "Employee"), ("AGENCY", "Agency")),
    "LanguageProficiency": (
        ("NATIVE", "Native"),
        ("FLUENT", "Fluent"),
        ("GOOD", "Good"),
        ("BASIC", "Basic"),
        ("NONE", "None"),
    ),
    "EducationResult": (
        ("PASSED", "Passed"),
        ("MERIT", "Passed with merit"),
        ("DISTINCTION", "Passed with distinction"),
        ("PROGRESS", "In progress"),
        ("NOT_COMPLETED", "Not completed"),
        ("FAILED", "Failed"),
    ),
}


def fixed_id(list_name: str, code: str) -> uuid.UUID:
    """Return the id that an entry of a system list has in every installation."""
    return uuid.uuid5(NAMESPACE, f"{list_name}:{code}")


@cache
def system_entries() -> dict[str, tuple[tuple[uuid.UUID, str, str], ...]]:
    """Return id, code and name of every entry of every system list, in the order in which staff see them."""
    countries = _read("countries.csv")
    lists = {
        **SHORT_LISTS,
        "Nationality": countries,
        "Country": countries,
        "Language": _read("languages.csv"),
    }
    return {
        list_name: tuple((fixed_id(list_name, code), code, name) for code, name in rows)
        for list_name, rows in lists.items()
    }


def _read(name: str) -> tuple[tuple[str, str], ...]:
    with (ISO / name).open(encoding="utf-8", newline="") as file:
        return tuple((row["code"], row["name"]) for row in csv.DictReader(file))


def seed_system_lists(using: str = DEFAULT_DB_ALIAS, apps: Any = installed) -> int:
    """Add the system entries that the database lacks, and return how many were added; one query if there are none.

    Existing entries stay as they are, even if they were renamed or archived. An entry is left out if the organisation
    has given its name or code to an entry of its own. Seeding is part of the installation and leaves no Change.
    """
    lists = system_entries()
    tables = {name: apps.get_model("reference", name) for name in lists}
    first, *other_queries = (model._base_manager.using(using).order_by().values_list("pk") for model in tables.values())
    present = {key for (key,) in first.union(*other_queries, all=True)}
    return sum(_add_missing(tables[name], rows, present, using) for name, rows in lists.items())


def _add_missing(
    model: type[models.Model], rows: tuple[tuple[uuid.UUID, str, str], ...], present: set[uuid.UUID], using: str
) -> int:
    entries = [
        model(pk=key, code=code, name=name, idx=idx)
        for idx, (key, code, name) in enumerate(rows, start=1)
        if key not in present
    ]
    if not entries:
        return 0
    manager = model._base_manager.using(using)
    before = manager.count()
    manager.bulk_create(entries, ignore_conflicts=True)
    return manager.count() - before


def seed_after_migrate(*, using: str, apps: Any = installed, **_signal: object) -> None:
    """Seed after the tables exist (also after a test's flush); do nothing if the database has no such tables."""
    try:
        apps.get_model("reference", "Title")
    except LookupError:
        return
    seed_system_lists(using, apps)
