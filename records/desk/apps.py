"""The desk room."""

from django.apps import AppConfig


class DeskConfig(AppConfig):
    """Registers records.desk."""

    name = "records.desk"
    label = "desk"
    verbose_name = "Desk"

    def ready(self) -> None:
        """Put the start page into the back-office."""
        from django.contrib import admin

        from records.backoffice import additions
        from records.desk import start

        additions.start_page = start.context
        admin.site.index_template = "desk/start.html"
