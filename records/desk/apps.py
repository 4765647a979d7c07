"""The desk room."""

from django.apps import AppConfig


class DeskConfig(AppConfig):
    """Registers records.desk."""

    name = "records.desk"
    label = "desk"
    verbose_name = "Desk"
