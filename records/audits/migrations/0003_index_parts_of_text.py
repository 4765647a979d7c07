"""Indexes, on PostgreSQL, for the search for part of a text."""

from django.db import migrations

from records.sites.grams import IndexGrams


class Migration(migrations.Migration):
    dependencies = [("audits", "0002_index_of_finish_date"), ("sites", "0002_grams")]

    operations = [
        IndexGrams("auditprogram", ("name", "department")),
        IndexGrams("auditrecord", ("notes", "rating", "result")),
    ]
