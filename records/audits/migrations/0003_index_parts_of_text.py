"""Indexes, on PostgreSQL, for the search for part of a text."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    dependencies = [("audits", "0002_index_of_finish_date"), ("sites", "0002_grams")]

    operations = [
        IndexTrigrams("auditprogram", ("name", "department")),
        IndexTrigrams("auditrecord", ("notes", "rating", "result")),
    ]
