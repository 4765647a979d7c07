from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0002_index_parts_of_text"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="customer",
            options={
                "ordering": ("site_sequence_id", "id"),
                "permissions": (
                    ("archive_customer", "Can archive and restore customers"),
                    ("erase_contact", "Can erase who a contact is"),
                ),
            },
        ),
    ]
