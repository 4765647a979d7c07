"""The app configuration of audits."""

from django.apps import AppConfig


class AuditsConfig(AppConfig):
    """Registers records.audits."""

    name = "records.audits"

    def add_to_backoffice(self) -> None:
        """Add a link from an audit in progress to its checklist, the year view, and the audits that are due."""
        from records.audits import checklist, to_do, year
        from records.backoffice import extension_points

        extension_points.add(checklist, year, to_do)
