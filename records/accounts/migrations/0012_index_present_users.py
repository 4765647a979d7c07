from django.db import migrations, models

from records.sites.indexes import AddIndexInBackground


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0011_dry_run_tokens")]

    operations = [
        AddIndexInBackground(
            model_name="user",
            index=models.Index(
                fields=["home_site", "id"],
                condition=models.Q(("is_service_account", False), ("removed__isnull", True)),
                name="user_present_at_site",
            ),
        ),
        migrations.RemoveIndex(model_name="user", name="user_of_home_site"),
    ]
