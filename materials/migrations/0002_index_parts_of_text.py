"""Indexes, on PostgreSQL, for the search for part of a text."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    dependencies = [("materials", "0001_initial"), ("sites", "0002_grams")]

    operations = [
        IndexTrigrams("material", ("name", "external_id", "our_code", "supplier_code")),
    ]
