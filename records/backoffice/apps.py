"""The back-office room and its admin site."""

from typing import Any

from allauth.socialaccount.apps import SocialAccountConfig
from django.apps import AppConfig, apps
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core import checks
from django.utils.translation import gettext_lazy

from records.backoffice import rooms

OWN_PACKAGES = ("records.", "documents.", "materials.", "scim.")
"""The packages whose models have names that we translate."""


class BackofficeConfig(AppConfig):
    """Registers records.backoffice."""

    name = "records.backoffice"
    verbose_name = "Back-office"

    def ready(self) -> None:
        """Register who may read the history and share saved filters, and record the start of each session."""
        from records.accounts.default_roles import register
        from records.accounts.models import DefaultRole
        from records.backoffice.sign_in import events

        events.listen()
        register("history.view_change", DefaultRole.MANAGER)
        register("backoffice.share_savedfilter", DefaultRole.MANAGER)


class ProvidersConfig(SocialAccountConfig):
    """allauth's sign-in with a provider, which `sign_in/provider.py` loads with the library that it needs."""

    def ready(self) -> None:
        """Have Django check the settings of providers."""
        from allauth.socialaccount import checks  # noqa: F401


class LarderAdminConfig(SimpleAdminConfig):
    """Django's admin with our own site class; the pages of the rooms are loaded later (`rooms.py`)."""

    default_site = "records.backoffice.site.BackofficeSite"

    def ready(self) -> None:
        """Let all names be translated, and have Django check the pages."""
        mark_names()
        checks.register(check_dependencies, checks.Tags.admin)
        checks.register(_check_pages, checks.Tags.admin)


def _check_pages(app_configs: Any, **options: Any) -> list[checks.CheckMessage]:
    """Check the pages of all rooms as Django checks those of an admin site that it has loaded."""
    rooms.load()
    return check_admin_app(app_configs, **options)


def mark_names() -> None:
    """Let the names of all models and fields be translated when they are shown.

    Most of these names follow from the names in the code, so they cannot be marked in the code. Migrations keep
    the English names.
    """
    for model in apps.get_models():
        if model.__module__.startswith(OWN_PACKAGES):
            options = model._meta
            for owner in (options, *options.local_fields, *options.local_many_to_many):
                for name in ("verbose_name", "verbose_name_plural"):
                    if getattr(owner, name, None):
                        setattr(owner, name, gettext_lazy(str(getattr(owner, name))))
