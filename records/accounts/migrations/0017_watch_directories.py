"""Let the triggers that mark changes of access be created again, because they now watch directories and their tokens."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0016_recompute_user_name_looks")]
