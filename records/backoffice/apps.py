"""The back-office room and its admin site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig
from django.utils.module_loading import autodiscover_modules


class BackofficeConfig(AppConfig):
    """Registers records.backoffice."""

    name = "records.backoffice"
    label = "backoffice"
    verbose_name = "Back-office"

    def ready(self) -> None:
        """Register who may read the history and share saved filters, and record the start of each session."""
        from records.accounts.default_roles import register
        from records.accounts.models import DefaultRole
        from records.backoffice.sign_in import events

        events.listen()
        register("history.view_change", DefaultRole.MANAGER)
        register("backoffice.share_savedfilter", DefaultRole.MANAGER)


class LarderAdminConfig(AdminConfig):
    """Django's admin with our own site class; finds the admin.py of each room."""

    default_site = "records.backoffice.site.BackofficeSite"

    def ready(self) -> None:
        """Find the admin.py of each room, then the resources.py, which defines import and export of its lists."""
        super().ready()
        autodiscover_modules("resources")
