"""The operations room."""

import sys
from importlib import import_module

from django.apps import AppConfig
from django.conf import settings
from django.utils.module_loading import import_string

UNUSED_PACKAGES = (
    "django.contrib.postgres.fields",
    "inflection",
    "markdown",
    "pygments",
    "requests",
    "uritemplate",
    "yaml",
)
"""What REST framework loads if it is installed, for parts of it that no operation uses: a sixth of the start."""


def load_framework() -> None:
    """Load REST framework as if the unused packages were not installed."""
    package_names = [name for name in UNUSED_PACKAGES if name not in sys.modules]
    try:
        # Python refuses to load a module whose entry here is None.
        sys.modules.update(dict.fromkeys(package_names))  # type: ignore[arg-type]
        import_module("rest_framework.compat")
    finally:
        for name in package_names:
            del sys.modules[name]


load_framework()


class OperationsConfig(AppConfig):
    """Registers records.operations."""

    name = "records.operations"

    def ready(self) -> None:
        """Register the check of weak settings, and start what sends traces where the settings name it."""
        from records.operations import checks  # noqa: F401

        if settings.TRACER:
            import_string(settings.TRACER)()
