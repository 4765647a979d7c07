from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("history", "0006_index_holds_and_erasures"),
    ]

    operations = [
        migrations.AddField(
            model_name="proof",
            name="named",
            field=models.JSONField(null=True),
        ),
    ]
