"""The app configuration of audits."""

from django.apps import AppConfig


class AuditsConfig(AppConfig):
    """Registers records.audits."""

    name = "records.audits"
    label = "audits"
    verbose_name = "Audits"

    def ready(self) -> None:
        """Add a link from an audit in progress to its checklist, and the year view."""
        from records.audits import checklist, year
        from records.backoffice import extension_points

        extension_points.add_record_links(checklist.links)
        extension_points.add_pages(year.addresses)
        extension_points.add_list_links(year.links)
