"""The accounts room."""

from typing import Any

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate

OF_SITE_ADMINISTRATORS = (
    "sites.change_site",
    "accounts.add_user",
    "accounts.change_user",
    "accounts.view_role",
    "accounts.add_role",
    "accounts.change_role",
    "accounts.view_directory",
    "accounts.add_directory",
    "accounts.change_directory",
    "accounts.view_securityevent",
)
"""Permissions of Site Administrators alone among the default roles (DECISIONS 2.5), which no operation names."""


class AccountsConfig(AppConfig):
    """Registers records.accounts; after migrations it updates the default roles."""

    name = "records.accounts"
    verbose_name = "Accounts and access"

    def ready(self) -> None:
        """Connect to the end of migrations; register the permissions above and which accounts a record may point at."""
        from records.accounts import access
        from records.accounts.default_roles import register
        from records.accounts.models import DefaultRole, User
        from records.sites.targets import accounts_are

        accounts_are(User, access.accounts_at)
        for permission in OF_SITE_ADMINISTRATORS:
            register(permission, DefaultRole.SITE_ADMINISTRATOR)
        post_migrate.connect(bring_roles_up_to_date, dispatch_uid="default roles")


def bring_roles_up_to_date(sender: AppConfig, **kwargs: Any) -> None:
    """Update the default roles once the last app's permissions exist, and create the triggers for changes of access."""
    with_models = [config for config in apps.get_app_configs() if config.models_module is not None]
    if sender is with_models[-1]:
        from records.accounts import access_triggers, default_roles

        access_triggers.install(kwargs["using"])
        default_roles.bring_up_to_date()
