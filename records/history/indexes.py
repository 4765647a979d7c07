"""Operations of migrations that run while the service does.

Such a migration is not one transaction (`atomic = False`). If it is interrupted, `manage.py migrate` runs it again from
its start, so each of its operations must accept what an earlier attempt has left behind.
"""

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState


class AddIndexInBackground(migrations.AddIndex):
    """Adds an index without blocking writers on PostgreSQL; its migration needs `atomic = False`.

    What an interrupted attempt has left is dropped first: PostgreSQL keeps such an index, but never uses it.
    """

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Create the index."""
        model = to_state.apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        in_background = schema_editor.connection.vendor == "postgresql"
        how = "CONCURRENTLY IF EXISTS" if in_background else "IF EXISTS"
        schema_editor.execute(f"DROP INDEX {how} {schema_editor.quote_name(self.index.name)}")
        if in_background:
            schema_editor.add_index(model, self.index, concurrently=True)
        else:
            super().database_forwards(app_label, schema_editor, from_state, to_state)


class AddMissingField(migrations.AddField):
    """Adds a field, unless an interrupted attempt has added its column; for migrations with `atomic = False`."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Add the column if it is missing."""
        model = to_state.apps.get_model(app_label, self.model_name)
        with schema_editor.connection.cursor() as cursor:
            columns = schema_editor.connection.introspection.get_table_description(cursor, model._meta.db_table)
        if model._meta.get_field(self.name).column not in {column.name for column in columns}:
            super().database_forwards(app_label, schema_editor, from_state, to_state)
