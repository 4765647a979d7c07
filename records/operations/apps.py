"""The operations room."""

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """Registers records.operations."""

    name = "records.operations"
    label = "operations"
    verbose_name = "Operations"

    def ready(self) -> None:
        """Register the check of weak settings."""
        from records.operations import checks  # noqa: F401
