"""A response can be marked as failing the audit."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reference", "0003_index_parts_of_text")]

    operations = [
        migrations.AddField(
            model_name="ratingresponse",
            name="fails",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="One finding with this response gives the audit its lowest band, whatever the score is.",
                verbose_name="fails the audit",
            ),
        ),
    ]
