"""The back-office room and its admin site."""

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig


class BackofficeConfig(AppConfig):
    """Registers records.backoffice."""

    name = "records.backoffice"
    label = "backoffice"
    verbose_name = "Back-office"


class LarderAdminConfig(SimpleAdminConfig):
    """Django's admin with our own site."""

    default_site = "records.backoffice.site.BackofficeSite"
