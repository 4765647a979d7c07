"""The documents room."""

from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    """Registers documents."""

    name = "documents"
    label = "documents"
    verbose_name = "Documents"
