"""Indexes, on PostgreSQL, for the search for complaints by part of the name of their nonconformance."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    dependencies = [("reference", "0005_plain_names"), ("sites", "0002_grams")]

    operations = [
        IndexTrigrams("nonconformance", ("name_key", "code_key")),
    ]
