"""Let a provisioning token be one whose writes are rolled back."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0010_user_name_look")]

    operations = [
        migrations.AddField(
            model_name="provisioningtoken",
            name="dry_run",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Its writes are checked and answered as usual, but nothing is stored.",
            ),
        ),
    ]
