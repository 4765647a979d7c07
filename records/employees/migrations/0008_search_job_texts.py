"""Indexes, on PostgreSQL, for the search for job descriptions by part of their texts."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("employees", "0007_name_type_of_employment")]

    operations = [
        IndexTrigrams(
            "jobdescription",
            ("purpose", "responsibilities", "authority", "qualifications", "experience"),
            in_background=True,
        )
    ]
