"""Indexes, on PostgreSQL, for the search for customers by part of their postal city or note."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("customers", "0004_search_places_and_contacts")]

    operations = [IndexTrigrams("customer", ("postal_address_city", "note"), in_background=True)]
