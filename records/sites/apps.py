"""The sites room."""

from django.apps import AppConfig


class SitesConfig(AppConfig):
    """Registers records.sites and its text lookups."""

    name = "records.sites"

    def ready(self) -> None:
        """Register the lookups before any query is built."""
        from records.sites import lookups

        lookups.register()
