"""The history room."""

from django.apps import AppConfig


class HistoryConfig(AppConfig):
    """Registers records.history."""

    name = "records.history"

    def ready(self) -> None:
        """Register the check of the seal's key."""
        from records.history import checks  # noqa: F401
