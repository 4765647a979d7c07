"""The files room."""

from django.apps import AppConfig


class FilesConfig(AppConfig):
    """Registers records.files, which has commands and an abstract model, and no table of its own."""

    name = "records.files"
    label = "files"
    verbose_name = "Files"
