"""The back-office room and its admin site."""

from django.apps import AppConfig, apps
from django.contrib.admin.apps import AdminConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy

OURS = ("records.", "documents.", "materials.", "scim.")
"""The packages whose models have names of ours."""


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
        mark_names()
        super().ready()
        autodiscover_modules("resources")


def mark_names() -> None:
    """Let the names of all models and fields be translated when they are shown.

    Most of these names follow from the names in the code, so they cannot be marked where they stand. Migrations keep
    the English names.
    """
    for model in apps.get_models():
        if model.__module__.startswith(OURS):
            options = model._meta
            for owner in (options, *options.local_fields, *options.local_many_to_many):
                for name in ("verbose_name", "verbose_name_plural"):
                    if getattr(owner, name, None):
                        setattr(owner, name, gettext_lazy(str(getattr(owner, name))))
