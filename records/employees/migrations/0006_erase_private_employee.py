from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("employees", "0005_training"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="employee",
            options={
                "ordering": ("site_sequence_id", "id"),
                "permissions": (
                    ("view_private_employee", "Can see private employee fields"),
                    ("archive_employee", "Can archive and restore employees"),
                    ("erase_private_employee", "Can erase private facts of employees who left"),
                ),
            },
        ),
    ]
