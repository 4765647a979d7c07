from django.db import migrations, models

from records.sites.indexes import AddIndexInBackground


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("actions", "0001_initial"),
    ]

    operations = [
        AddIndexInBackground(
            model_name="action",
            index=models.Index(
                condition=models.Q(("is_archived", False), ("record_status", "Closed")),
                fields=["site", "closed_date"],
                include=("effective",),
                name="action_by_closed_date",
            ),
        ),
    ]
