"""The dashboard app: what staff see across records."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Registers records.dashboard and puts its pages into the back-office."""

    name = "records.dashboard"

    def add_to_backoffice(self) -> None:
        """Add the start page, the search, the print views and the overview of permissions to the back-office."""
        from django.contrib import admin

        from records.backoffice import extension_points
        from records.dashboard import complaint_figures, quick_complaint, rights, search, start, training
        from records.dashboard.monthly import pages as monthly
        from records.dashboard.printing import controlled
        from records.dashboard.printing import pages as printing
        from records.dashboard.tracing import pages as tracing

        extension_points.start_page = start.context
        extension_points.add(search, quick_complaint, complaint_figures, printing, controlled)
        extension_points.add(rights, training, monthly, tracing)
        admin.site.index_template = "dashboard/start.html"
