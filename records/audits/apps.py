"""The audits room."""

from django.apps import AppConfig


class AuditsConfig(AppConfig):
    """Registers records.audits."""

    name = "records.audits"
    label = "audits"
    verbose_name = "Audits"
