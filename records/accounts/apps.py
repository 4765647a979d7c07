"""The accounts room."""

from typing import Any

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    """Registers records.accounts; after migrations the default roles are brought up to date."""

    name = "records.accounts"
    label = "accounts"
    verbose_name = "Accounts and access"

    def ready(self) -> None:
        """Ask to be called when migrations have run, and say which accounts records of a site may point at."""
        from records.accounts import access
        from records.accounts.models import User
        from records.sites.targets import accounts_are

        accounts_are(User, access.accounts_at)
        post_migrate.connect(bring_roles_up_to_date, dispatch_uid="default roles")


def bring_roles_up_to_date(sender: AppConfig, **kwargs: Any) -> None:
    """Bring the default roles up to date once the last app's permissions exist, and watch every change of access."""
    with_models = [config for config in apps.get_app_configs() if config.models_module is not None]
    if sender is with_models[-1]:
        from records.accounts import access_triggers, default_roles

        access_triggers.install(kwargs["using"])
        default_roles.bring_up_to_date()
