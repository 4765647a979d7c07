"""Indexes, on PostgreSQL, for the search for complaints by part of their correction or review report."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("complaints", "0008_units_sold")]

    operations = [IndexTrigrams("complaint", ("correction", "review_report"), in_background=True)]
