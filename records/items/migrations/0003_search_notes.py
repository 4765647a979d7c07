"""An index, on PostgreSQL, for the search for items by part of their notes."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("items", "0002_index_parts_of_text")]

    operations = [IndexTrigrams("item", ("notes",), in_background=True)]
