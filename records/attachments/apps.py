"""The attachments room."""

from django.apps import AppConfig


class AttachmentsConfig(AppConfig):
    """Registers records.attachments."""

    name = "records.attachments"

    def add_to_backoffice(self) -> None:
        """Show a record's attachments on its page, and serve their files."""
        from records.attachments import pages
        from records.backoffice import extension_points

        extension_points.add(pages)
