"""Keep for each account the key that its name shares with names that look like it in another script."""

from django.db import migrations, models
from django.db.models import F

from records.accounts.names import look_of
from records.sites.indexes import AddIndexInBackground, AddMissingField


def fill(apps, schema_editor):
    """Give each account its key; most names are ASCII, and the key of one is its folded name."""
    rows = apps.get_model("accounts", "User").objects.using(schema_editor.connection.alias)
    rows.filter(user_name_key__isnull=False).update(user_name_look=F("user_name_key"))
    for key, name in rows.filter(user_name_key__isnull=False).values_list("pk", "user_name").iterator(2_000):
        if not name.isascii():
            rows.filter(pk=key).update(user_name_look=look_of(name))


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0009_access_changes")]

    operations = [
        AddMissingField(
            model_name="user",
            name="user_name_look",
            field=models.CharField(editable=False, max_length=1020, null=True),
        ),
        AddIndexInBackground(
            model_name="user",
            index=models.Index(fields=["user_name_look"], name="user_by_look"),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
