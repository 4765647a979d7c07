"""Refuse a migration that would lock or rewrite a big table while the service runs (docs/operations.md, "Upgrade").

    python deploy/check_migrations.py            # check the migrations that are newer than the last release
    python deploy/check_migrations.py --release  # note that all migrations are part of a release now

The old code still runs during a migration. On a table with rows, an index must therefore be made concurrently, a column
be added with null or a database default, and a constraint be added without reading the rows.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
from django.db import models
from django.db.models import NOT_PROVIDED

TOP = Path(__file__).resolve().parents[1]
RELEASE_FILE = Path(__file__).resolve().parent / "released_migrations.txt"
OWN_APPS = ("records.", "documents", "materials", "scim")


def faults_of(migration: Any, state: Any) -> Iterator[str]:
    """Yield a sentence for each operation of the migration that locks or rewrites a table made by an earlier one."""
    from django.db import migrations

    new = {op.name_lower for op in migration.operations if isinstance(op, migrations.CreateModel)}
    for operation in migration.operations:
        table = getattr(operation, "model_name_lower", getattr(operation, "name_lower", ""))
        if table in new:
            continue
        kind = "AddField" if isinstance(operation, migrations.AddField) else type(operation).__name__
        if kind == "AddIndex":
            yield f"{kind} on {table}: use AddIndexConcurrently with atomic = False."
        elif kind == "AddConstraint":
            yield f"{kind} on {table}: use AddConstraintNotValid, and ValidateConstraint in a migration of its own."
        elif kind == "AddField" and adds_a_value(operation.field):
            yield f"{kind} {table}.{operation.name}: allow null or give it a db_default."
        elif type(operation) is migrations.AddField and not migration.atomic:
            yield f"{kind} {table}.{operation.name}: use AddMissingField, since the migration may have to run again."
        elif kind == "AlterField" and changes_the_column(operation, state, migration.app_label):
            yield f"{kind} {table}.{operation.name}: add a new column and move the values in steps."
        elif kind in ("RemoveField", "DeleteModel", "RenameField", "RenameModel"):
            yield f"{kind} on {table}: the release before still uses it; do this one release later."


def adds_a_value(field: Any) -> bool:
    """Return whether the field takes a value that the code of the release before does not give.

    Django drops the column's default once the field is added, so without null or a `db_default` that code could not add
    rows any more.
    """
    return not (isinstance(field, models.ManyToManyField) or field.null or field.db_default is not NOT_PROVIDED)


def changes_the_column(operation: Any, state: Any, app_label: str) -> bool:
    """Return whether the column's type or nullability changes, not only what forms and checks know of it."""
    from django.db import connection

    before = state.models[app_label, operation.model_name_lower].fields[operation.name]
    after = operation.field
    types = {field.__class__ for field in (before, after)}
    if len(types) > 1 and before.db_type(connection) != after.db_type(connection):
        return True
    shorter = (getattr(after, "max_length", None) or 0) < (getattr(before, "max_length", None) or 0)
    return shorter or (before.null and not after.null)


def main(arguments: list[str]) -> int:
    """Check or note the migrations; return the exit code."""
    sys.path.insert(0, str(TOP))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.apps import apps
    from django.db.migrations.loader import MigrationLoader

    loader = MigrationLoader(None)
    labels = {config.label for config in apps.get_app_configs() if config.name.startswith(OWN_APPS)}
    names = sorted(f"{app}.{name}" for app, name in loader.disk_migrations if app in labels)
    if "--release" in arguments:
        RELEASE_FILE.write_text("\n".join(names) + "\n", encoding="ascii")
        return 0
    old_names = set(RELEASE_FILE.read_text(encoding="ascii").split())
    faults = []
    for app, name in loader.disk_migrations:
        if app in labels and f"{app}.{name}" not in old_names:
            migration = loader.disk_migrations[app, name]
            state = loader.project_state((app, name), at_end=False)
            faults += [f"{app}.{name}: {fault}" for fault in faults_of(migration, state)]
    print(
        "\n".join(faults)
        or f"{len(names) - len(old_names & set(names))} new migrations can run while the service does."
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
