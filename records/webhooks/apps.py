"""The webhooks room."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Registers webhooks."""

    name = "records.webhooks"
    demo_part = "records.webhooks.demo"

    def ready(self) -> None:
        """Register which default role may manage webhooks."""
        from records.accounts.default_roles import register
        from records.accounts.models import DefaultRole

        for name in ("view_subscription", "add_subscription", "change_subscription", "view_delivery"):
            register(f"webhooks.{name}", DefaultRole.SITE_ADMINISTRATOR)
