"""An index, on PostgreSQL, for the search for materials by part of their description."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("materials", "0002_index_parts_of_text")]

    operations = [IndexTrigrams("material", ("description",), in_background=True)]
