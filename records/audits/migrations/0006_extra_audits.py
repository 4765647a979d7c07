"""Mark audits besides those that a program's frequency asks for; no audit of before has the mark."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audits", "0005_no_score_before_review")]

    operations = [
        migrations.AddField(
            model_name="auditrecord",
            name="is_extra",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Besides the regular audits: the program's next due date does not depend on it.",
                verbose_name="extra audit",
            ),
        ),
    ]
