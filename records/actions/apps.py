"""The actions room."""

from django.apps import AppConfig


class ActionsConfig(AppConfig):
    """Registers records.actions."""

    name = "records.actions"
    label = "actions"
    verbose_name = "Actions"
