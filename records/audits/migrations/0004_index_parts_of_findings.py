"""Indexes, on PostgreSQL, for the search for part of a finding's text."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    dependencies = [("audits", "0003_index_parts_of_text")]

    operations = [IndexTrigrams("finding", ("question", "comment"))]
