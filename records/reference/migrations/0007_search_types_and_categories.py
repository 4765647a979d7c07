"""Indexes, on PostgreSQL, for the search for employees by their type of employment and for materials by category."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("reference", "0006_search_nonconformances")]

    operations = [
        IndexTrigrams("natureofemployment", ("name_key",), in_background=True),
        IndexTrigrams("materialcategory", ("name_key",), in_background=True),
    ]
