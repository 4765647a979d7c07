"""The app configuration of documents."""

from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    """Registers documents and their back-office pages."""

    name = "documents"

    def add_to_backoffice(self) -> None:
        """Add the inbox, the pages of versions and readings, and what somebody has to sign, read or review."""
        from documents import pages, reading_pages, to_do
        from records.backoffice import extension_points

        extension_points.add(pages, reading_pages, to_do)
