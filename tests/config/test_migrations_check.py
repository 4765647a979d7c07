"""The check that a new migration can run while the service of the release before goes on."""

from types import SimpleNamespace

import pytest
from django.db import migrations, models

from deploy.check_migrations import faults_of
from records.sites.indexes import AddIndexInBackground, AddMissingField

INDEX = models.Index(fields=["code"], name="by_code")
UNIQUE = models.UniqueConstraint(fields=["code"], name="one_code")
CODE = models.CharField(max_length=20)

UNSAFE = {
    "an index under a lock": migrations.AddIndex("item", INDEX),
    "a constraint that reads every row": migrations.AddConstraint("item", UNIQUE),
    "a text that the old code does not give": migrations.AddField("item", "shelf", models.CharField(max_length=20)),
    "a default that Django drops again": migrations.AddField("item", "heavy", models.BooleanField(default=False)),
    "a longer column of another type": migrations.AlterField("item", "code", models.IntegerField()),
    "a shorter column": migrations.AlterField("item", "code", models.CharField(max_length=10)),
    "a column that the old code reads": migrations.RemoveField("item", "code"),
    "a new name of a column": migrations.RenameField("item", "code", "number"),
    "a table that the old code reads": migrations.DeleteModel("item"),
}

SAFE = {
    "an index in the background": AddIndexInBackground("item", INDEX),
    "a field that may be empty": migrations.AddField("item", "shelf", models.CharField(max_length=20, null=True)),
    "a default of the database": migrations.AddField("item", "heavy", models.BooleanField(db_default=False)),
    "another help text": migrations.AlterField("item", "code", models.CharField(max_length=20, help_text="New.")),
    "a longer column": migrations.AlterField("item", "code", models.CharField(max_length=40)),
}


def faults_in(operation: migrations.operations.base.Operation) -> list[str]:
    """Return what the check says of a migration of the operation, on a table that has a code."""
    state = SimpleNamespace(models={("items", "item"): SimpleNamespace(fields={"code": CODE})})
    return list(faults_of(migration_of(operation), state))


def migration_of(*operations: migrations.operations.base.Operation) -> migrations.Migration:
    """Return a migration as a file would hold it."""
    holder = type("Migration", (migrations.Migration,), {"operations": list(operations)})
    return holder("0002_next", "items")


@pytest.mark.parametrize("operation", UNSAFE.values(), ids=UNSAFE)
def test_what_would_stop_the_running_service_is_refused(operation: migrations.operations.base.Operation) -> None:
    """Each names what to do instead."""
    assert len(faults_in(operation)) == 1


@pytest.mark.parametrize("operation", SAFE.values(), ids=SAFE)
def test_what_the_running_service_does_not_notice_is_taken(operation: migrations.operations.base.Operation) -> None:
    """Nothing is said of it."""
    assert faults_in(operation) == []


def test_a_table_of_the_same_migration_has_no_rows_yet() -> None:
    """An index on it locks nobody out."""
    migration = migration_of(migrations.CreateModel("Item", [("code", CODE)]), migrations.AddIndex("item", INDEX))
    assert list(faults_of(migration, SimpleNamespace(models={}))) == []


@pytest.mark.parametrize(("kind", "faults"), [(migrations.AddField, 1), (AddMissingField, 0)])
def test_a_migration_outside_a_transaction_adds_only_fields_that_are_missing(
    kind: type[migrations.AddField], faults: int
) -> None:
    migration = migration_of(kind("item", "shelf", models.CharField(max_length=20, null=True)))
    type(migration).atomic = False
    assert len(list(faults_of(migration, None))) == faults


def test_a_field_that_may_be_missing_is_checked_like_any_other() -> None:
    assert faults_in(AddMissingField("item", "shelf", models.CharField(max_length=20)))
