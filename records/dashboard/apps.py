"""The dashboard app: what staff see across records."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Registers records.dashboard and puts its pages into the back-office."""

    name = "records.dashboard"
    label = "dashboard"
    verbose_name = "Dashboard"

    def ready(self) -> None:
        """Add the start page, the search, the print views and the overview of permissions to the back-office."""
        from django.contrib import admin

        from records.backoffice import extension_points
        from records.dashboard import complaint_figures, quick_complaint, rights, search, start, training
        from records.dashboard.monthly import pages as monthly
        from records.dashboard.printing import controlled
        from records.dashboard.printing import pages as printing
        from records.dashboard.tracing import pages as tracing

        extension_points.start_page = start.context
        extension_points.add_pages(search.pages)
        extension_points.add_pages(printing.addresses)
        extension_points.add_pages(complaint_figures.addresses)
        extension_points.add_pages(quick_complaint.addresses)
        extension_points.add_menu_links(quick_complaint.menu_links)
        extension_points.add_list_links(quick_complaint.list_links)
        extension_points.add_list_links(complaint_figures.links)
        extension_points.add_record_links(printing.links)
        extension_points.add_list_links(printing.list_links)
        extension_points.add_pages(controlled.addresses)
        extension_points.add_record_panels(controlled.panels)
        admin.site.index_template = "dashboard/start.html"
        extension_points.add_pages(rights.addresses)
        extension_points.add_menu_links(rights.links)
        extension_points.add_pages(training.addresses)
        extension_points.add_menu_links(training.links)
        extension_points.add_pages(monthly.addresses)
        extension_points.add_menu_links(monthly.menu_links)
        extension_points.add_pages(tracing.addresses)
        extension_points.add_menu_links(tracing.menu_links)
        extension_points.add_record_links(tracing.links)
