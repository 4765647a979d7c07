"""Indexes, on PostgreSQL, for the search for part of a customer's city or telephone number, or of a contact."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("customers", "0003_erase_contact"), ("sites", "0002_grams")]

    operations = [
        IndexTrigrams("customer", ("physical_address_city", "telephone"), in_background=True),
        IndexTrigrams("partycontact", ("first_name", "last_name", "email", "phone"), in_background=True),
    ]
