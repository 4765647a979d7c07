"""Today's addresses become recovery addresses, and accounts that a directory made are told from adopted ones."""

from typing import Any

from django.db import migrations
from django.db.models import F


def fill(apps: Any, schema_editor: Any) -> None:
    """Keep each account's address as its recovery address; the history tells which accounts a directory made."""
    users = apps.get_model("accounts", "User").objects
    users.update(recovery_address=F("email"))
    made = apps.get_model("history", "Change").objects.filter(
        model="accounts.User", operation="AddUser", channel="SCIM"
    )
    users.filter(directory__isnull=False, pk__in=made.values("record_id")).update(made_by_directory=True)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0006_authority"), ("history", "0001_initial")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
