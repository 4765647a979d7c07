"""Indexes, on PostgreSQL, for the search for part of a text."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    dependencies = [("complaints", "0003_cover_charts_by_index"), ("sites", "0002_grams")]

    operations = [
        IndexTrigrams("complaint", ("trace_number_key", "consumer_last_name", "complaint_description")),
    ]
