"""Indexes, on PostgreSQL, for the search for part of a text."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    dependencies = [("reference", "0002_checklist_questions"), ("sites", "0002_grams")]

    operations = [
        IndexTrigrams("product", ("name_key", "code_key")),
    ]
