"""Indexes, on PostgreSQL, for the search for part of a text."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    dependencies = [("items", "0001_initial"), ("sites", "0002_grams")]

    operations = [
        IndexTrigrams("item", ("name_key", "code_key", "serial_number_key", "location_key")),
    ]
