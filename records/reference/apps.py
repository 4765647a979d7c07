"""The reference room."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate

from records.reference.seed import seed_after_migrate


class ReferenceConfig(AppConfig):
    """Registers records.reference, and fills its system lists after each migration."""

    name = "records.reference"
    verbose_name = "Reference lists"

    def ready(self) -> None:
        """Complete the system lists whenever the tables were created, changed or flushed."""
        post_migrate.connect(seed_after_migrate, sender=self, dispatch_uid="records.reference.seed")
