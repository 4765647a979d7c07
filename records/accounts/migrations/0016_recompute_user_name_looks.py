"""Compute anew the key that a name shares with its look-alikes: letters have become look-alikes since it was stored."""

from django.db import migrations

from records.accounts.names import look_of


def recompute(apps, schema_editor):
    """Store the key of each name that is not ASCII; the key of an ASCII name has always been the folded name."""
    rows = apps.get_model("accounts", "User").objects.using(schema_editor.connection.alias)
    named = rows.filter(user_name_key__isnull=False).values_list("pk", "user_name", "user_name_look")
    stale = [(key, look_of(name)) for key, name, look in named if not name.isascii() and look != look_of(name)]
    for key, look in stale:
        rows.filter(pk=key).update(user_name_look=look)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0015_user_language")]

    operations = [migrations.RunPython(recompute, migrations.RunPython.noop)]
