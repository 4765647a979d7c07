"""The accounts room."""

from typing import Any

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    """Registers records.accounts; after migrations it updates the default roles."""

    name = "records.accounts"
    label = "accounts"
    verbose_name = "Accounts and access"

    def ready(self) -> None:
        """Connect to the end of migrations, and register which accounts records of a site may refer to."""
        from records.accounts import access
        from records.accounts.models import User
        from records.sites.targets import accounts_are

        accounts_are(User, access.accounts_at)
        post_migrate.connect(bring_roles_up_to_date, dispatch_uid="default roles")


def bring_roles_up_to_date(sender: AppConfig, **kwargs: Any) -> None:
    """Update the default roles once the last app's permissions exist, and create the triggers for changes of access."""
    with_models = [config for config in apps.get_app_configs() if config.models_module is not None]
    if sender is with_models[-1]:
        from records.accounts import access_triggers, default_roles

        access_triggers.install(kwargs["using"])
        default_roles.bring_up_to_date()
