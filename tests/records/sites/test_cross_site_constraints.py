"""Decision 24 names whatever keeps the tables from being distributed by site, and names nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import models

DECISIONS = Path(__file__).resolve().parents[3] / "docs" / "decisions"
PAGE = (DECISIONS / "0024-distributed-postgresql.md").read_text(encoding="utf-8")
APPS = ("records.", "documents", "materials", "scim")


def our_models() -> list[type[models.Model]]:
    """Return the models of the product, with those that Django makes for lists."""
    return [
        model for model in apps.get_models(include_auto_created=True) if model._meta.app_config.name.startswith(APPS)
    ]


def site_field(model: type[models.Model]) -> str | None:
    """Return the name of the field that says to which site a row belongs; a chain of the history is a site's."""
    names = {field.name for field in model._meta.concrete_fields}
    return next((name for name in ("chain", "site") if name in names), None)


def unique_sets(model: type[models.Model]) -> Iterator[tuple[str, set[str]]]:
    """Yield the name and the fields of everything that is unique in a table, except ids that are random or counted."""
    for field in model._meta.concrete_fields:
        is_counter = isinstance(field, models.AutoField | models.BigAutoField)
        if field.unique and not is_counter and not (field.primary_key and isinstance(field, models.UUIDField)):
            yield f"{model._meta.db_table}.{field.column}", {field.name}
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.UniqueConstraint):
            yield constraint.name, {*constraint.fields, *names_in(constraint.expressions)}
    for together in model._meta.unique_together:
        yield f"{model._meta.db_table}: {', '.join(together)}", set(together)


def names_in(expressions: Any) -> set[str]:
    """Return the names of the fields in expressions such as Lower("name")."""
    names: set[str] = {str(vars(expression)["name"]) for expression in expressions if isinstance(expression, models.F)}
    inner = [
        part
        for expression in expressions
        if hasattr(expression, "get_source_expressions")
        for part in expression.get_source_expressions()
    ]
    return names | names_in(inner) if inner else names


def names_under(title: str) -> set[str]:
    """Return what the page lists in the first column of the table below a title."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n#")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))


def test_the_page_names_each_unique_constraint_of_a_table_with_sites_that_does_not_hold_the_site() -> None:
    across = {
        name
        for model in our_models()
        if (site := site_field(model))
        for name, fields in unique_sets(model)
        if site not in fields
    }
    assert across == names_under("Unique across sites")


def test_the_page_names_each_table_that_has_no_column_for_the_site() -> None:
    without = {
        model._meta.db_table
        for model in our_models()
        if site_field(model) is None and not model._meta.auto_created and model is not apps.get_model("sites.Site")
    }
    assert without == names_under("Tables without a site")
