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
        extension_points.pages += search.urlpatterns
        extension_points.pages += printing.urlpatterns
        extension_points.pages += complaint_figures.urlpatterns
        extension_points.pages += quick_complaint.urlpatterns
        extension_points.menu_links.append(quick_complaint.menu_links)
        extension_points.list_links.append(quick_complaint.list_links)
        extension_points.list_links.append(complaint_figures.links)
        extension_points.record_links.append(printing.links)
        extension_points.list_links.append(printing.list_links)
        extension_points.pages += controlled.urlpatterns
        extension_points.record_panels.append(controlled.panels)
        admin.site.index_template = "dashboard/start.html"
        extension_points.pages += rights.urlpatterns
        extension_points.menu_links.append(rights.links)
        extension_points.pages += training.urlpatterns
        extension_points.menu_links.append(training.links)
        extension_points.pages += monthly.urlpatterns
        extension_points.menu_links.append(monthly.menu_links)
        extension_points.pages += tracing.urlpatterns
        extension_points.menu_links.append(tracing.menu_links)
        extension_points.record_links.append(tracing.links)
