"""The operations room."""

from django.apps import AppConfig
from django.conf import settings
from django.utils.module_loading import import_string


class OperationsConfig(AppConfig):
    """Registers records.operations."""

    name = "records.operations"

    def ready(self) -> None:
        """Register the check of weak settings, and start what sends traces where the settings name it."""
        from records.operations import checks  # noqa: F401

        if settings.TRACER:
            import_string(settings.TRACER)()
