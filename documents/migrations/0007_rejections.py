from django.db import migrations, models

from records.sites.indexes import AddIndexInBackground, AddMissingField


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("documents", "0006_controlled_prints")]

    operations = [
        AddMissingField(
            model_name="notice",
            name="dismissed",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="notice",
            name="kind",
            field=models.CharField(
                choices=[
                    ("Review", "Asked to review"),
                    ("Approve", "Asked to approve"),
                    ("In force", "A version came into force"),
                    ("Read", "Asked to read"),
                    ("Rejected", "A version was rejected"),
                ],
                max_length=10,
            ),
        ),
        AddIndexInBackground(
            model_name="documentversion",
            index=models.Index(
                condition=models.Q(("record_status", "Awaiting Change")),
                fields=["created_by"],
                name="version_to_change",
            ),
        ),
    ]
