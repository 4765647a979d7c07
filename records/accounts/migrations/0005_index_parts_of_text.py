"""Indexes, on PostgreSQL, for the search for part of a text."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_kept_etag"), ("sites", "0002_grams")]

    operations = [
        IndexTrigrams("user", ("user_name", "given_name", "family_name", "display_name", "email")),
    ]
