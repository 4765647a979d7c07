"""The history room."""

from django.apps import AppConfig


class HistoryConfig(AppConfig):
    """Registers records.history."""

    name = "records.history"
    label = "history"
    verbose_name = "History"
