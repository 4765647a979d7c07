"""Indexes, on PostgreSQL, for the search for complaints by part of the details of their source or sample."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("complaints", "0009_search_answers")]

    operations = [
        IndexTrigrams("complaint", ("source_details", "sample_details", "consumer_purchased"), in_background=True)
    ]
