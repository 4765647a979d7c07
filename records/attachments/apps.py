"""The attachments room."""

from django.apps import AppConfig


class AttachmentsConfig(AppConfig):
    """Registers records.attachments."""

    name = "records.attachments"
    label = "attachments"
    verbose_name = "Attachments"
