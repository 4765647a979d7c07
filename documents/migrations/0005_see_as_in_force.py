"""Make the permission to see pending versions, and give it to the custom roles that write documents.

The default roles are brought up to date after every migration. Of the other roles, those that may add or change
documents saw pending versions until now and go on doing so; a Site Administrator can take the permission away.
"""

from typing import Any

from django.db import migrations
from django.db.models import F

WRITE = ("add_document", "change_document")
SEE = "view_pending_version"


def keep_what_writers_see(apps: Any, schema_editor: Any) -> None:
    """Give the new permission to the custom roles that may add or change documents."""
    Role = apps.get_model("accounts", "Role")
    Permission = apps.get_model("auth", "Permission")
    ContentType = apps.get_model("contenttypes", "ContentType")
    writers = Role.objects.filter(
        default_role="", permissions__codename__in=WRITE, permissions__content_type__app_label="documents"
    )
    roles = list(writers.distinct())
    if not roles:
        return
    kind, _ = ContentType.objects.get_or_create(app_label="documents", model="document")
    name = "Can view versions that are not in force"
    permission, _ = Permission.objects.get_or_create(content_type=kind, codename=SEE, defaults={"name": name})
    for role in roles:
        role.permissions.add(permission)
    Role.objects.filter(pk__in=[role.pk for role in roles]).update(revision=F("revision") + 1)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0010_user_name_look"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("documents", "0004_must_be_read"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="document",
            options={
                "ordering": ("site_sequence_id", "id"),
                "permissions": (
                    ("archive_document", "Can archive and restore documents"),
                    ("replace_signer", "Can replace a reviewer or approver who is away"),
                    ("view_pending_version", "Can view versions that are not in force"),
                ),
            },
        ),
        migrations.RunPython(keep_what_writers_see, migrations.RunPython.noop),
    ]
