"""Indexes, on PostgreSQL, for the search for part of a text."""

from django.db import migrations

from records.sites.grams import IndexGrams


class Migration(migrations.Migration):
    dependencies = [("customers", "0001_initial"), ("sites", "0002_grams")]

    operations = [
        IndexGrams("customer", ("name_key", "code_key")),
    ]
