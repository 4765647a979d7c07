"""The desk room."""

from django.apps import AppConfig


class DeskConfig(AppConfig):
    """Registers records.desk and puts its pages into the back-office."""

    name = "records.desk"
    label = "desk"
    verbose_name = "Desk"

    def ready(self) -> None:
        """Put the start page, the search, print views and the overview of who may do what into the back-office."""
        from django.contrib import admin

        from records.backoffice import additions
        from records.desk import rights, search, start
        from records.desk.admin.accounts import account_links
        from records.desk.printing import pages as printing

        additions.start_page = start.context
        additions.add_pages(search.pages)
        additions.add_pages(printing.addresses)
        additions.add_record_links(printing.links)
        additions.add_record_links(account_links)
        admin.site.index_template = "desk/start.html"
        additions.add_pages(rights.addresses)
        additions.add_menu_links(rights.links)
