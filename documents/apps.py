"""The app configuration of documents."""

from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    """Registers documents and their back-office pages."""

    name = "documents"

    def add_to_backoffice(self) -> None:
        """Add the inbox, the pages of versions and readings, and what somebody has to sign, read or review."""
        from documents import pages, reading_pages, to_do
        from records.backoffice import extension_points

        extension_points.pages += pages.urlpatterns
        extension_points.record_links.append(pages.links)
        extension_points.pages += reading_pages.urlpatterns
        extension_points.record_links.append(reading_pages.links)
        extension_points.menu_links.append(reading_pages.menu_links)
        extension_points.to_do += to_do.SECTIONS
