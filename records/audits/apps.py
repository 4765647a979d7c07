"""The audits room."""

from django.apps import AppConfig


class AuditsConfig(AppConfig):
    """Registers records.audits."""

    name = "records.audits"
    label = "audits"
    verbose_name = "Audits"

    def ready(self) -> None:
        """Lead from an audit in progress to its checklist."""
        from records.audits import checklist
        from records.backoffice import extension_points

        extension_points.add_record_links(checklist.links)
