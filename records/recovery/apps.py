"""The recovery room."""

from django.apps import AppConfig


class RecoveryConfig(AppConfig):
    """Registers records.recovery."""

    name = "records.recovery"
    label = "recovery"
    verbose_name = "Recovery"
