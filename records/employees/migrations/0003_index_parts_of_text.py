"""Indexes, on PostgreSQL, for the search for part of a text."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    dependencies = [("employees", "0002_jobdescription_document"), ("sites", "0002_grams")]

    operations = [
        IndexTrigrams("employee", ("last_name", "first_name", "code", "position")),
        IndexTrigrams("jobdescription", ("name", "code", "department")),
    ]
