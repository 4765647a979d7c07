"""Operations of migrations that can run again after an interrupted attempt."""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection, migrations, models
from django.db.migrations.state import ProjectState

from records.history.indexes import AddIndexInBackground, AddMissingField

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "item_by_interrupted"


def run(operation: migrations.operations.base.Operation) -> None:
    """Run an operation as a migration outside a transaction does."""
    before = ProjectState.from_apps(apps)
    after = before.clone()
    operation.state_forwards("items", after)
    with connection.schema_editor(atomic=False) as editor:
        operation.database_forwards("items", editor, before, after)


def indexes() -> dict[str, list[str]]:
    """Return the columns of each index of the items."""
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, "items_item")
    return {name: facts["columns"] for name, facts in constraints.items() if facts["index"]}


def columns() -> list[str]:
    with connection.cursor() as cursor:
        return [column.name for column in connection.introspection.get_table_description(cursor, "items_item")]


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX IF EXISTS {NAME}")
        if "shelf" in columns():
            cursor.execute("ALTER TABLE items_item DROP COLUMN shelf")


def test_an_index_that_an_interrupted_migration_has_left_is_made_anew() -> None:
    with connection.cursor() as cursor:
        # PostgreSQL would keep an invalid one under the name; any other index of this name stands for it here.
        cursor.execute(f"CREATE INDEX {NAME} ON items_item (name)")
    run(AddIndexInBackground("item", models.Index(fields=["code"], name=NAME)))
    assert indexes()[NAME] == ["code"]


def test_a_column_that_an_interrupted_migration_has_added_is_taken_as_it_is() -> None:
    for _ in range(2):
        run(AddMissingField("item", "shelf", models.CharField(max_length=20, null=True)))
        assert columns().count("shelf") == 1
