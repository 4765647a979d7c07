"""An index, on PostgreSQL, for the search for actions by part of their result."""

from django.db import migrations

from records.sites.trigrams import IndexTrigrams


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("actions", "0002_index_closed_date")]

    operations = [IndexTrigrams("action", ("result",), in_background=True)]
