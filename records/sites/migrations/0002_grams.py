"""The function, on PostgreSQL, that the indexes for part of a text are made of."""

from django.db import migrations

from records.sites.trigrams import CreateGrams


class Migration(migrations.Migration):
    dependencies = [("sites", "0001_initial")]

    operations = [CreateGrams()]
