from django.db import migrations, models

from records.history.indexes import AddIndexInBackground


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("history", "0007_name_faults_of_proof"),
    ]

    operations = [
        AddIndexInBackground(
            model_name="change",
            index=models.Index(
                condition=models.Q(("model", "backoffice.SavedFilter")),
                fields=["site"],
                name="change_of_saved_filter",
            ),
        ),
    ]
