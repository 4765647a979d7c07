"""The documents room."""

from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    """Registers documents, and their pages with the back-office."""

    name = "documents"
    label = "documents"
    verbose_name = "Documents"

    def ready(self) -> None:
        """Add the inbox and the pages of versions to the back-office."""
        from documents import pages
        from records.backoffice import extension_points

        extension_points.add_pages(pages.addresses)
        extension_points.add_record_links(pages.links)
