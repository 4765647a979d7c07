from django.db import migrations, models

from records.history.indexes import AddIndexInBackground


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("history", "0005_previous_hash_of_head"),
    ]

    operations = [
        AddIndexInBackground(
            model_name="change",
            index=models.Index(
                condition=models.Q(("operation__in", ("SetLegalHold", "LiftLegalHold"))),
                fields=["site", "-number"],
                name="change_of_legal_hold",
            ),
        ),
        AddIndexInBackground(
            model_name="change",
            index=models.Index(
                condition=models.Q(("operation__in", ("EraseConsumer", "EraseContact", "ErasePrivateFacts"))),
                fields=["site", "-at"],
                name="change_of_erasure",
            ),
        ),
    ]
