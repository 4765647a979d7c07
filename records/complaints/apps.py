"""The app configuration of complaints."""

from django.apps import AppConfig


class ComplaintsConfig(AppConfig):
    """Registers records.complaints."""

    name = "records.complaints"

    def add_to_backoffice(self) -> None:
        """Add the complaints that somebody has to answer, triage, complete or submit."""
        from records.backoffice import extension_points
        from records.complaints import to_do

        extension_points.add(to_do)
