"""The webhooks room."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Registers webhooks."""

    name = "records.webhooks"
    label = "webhooks"
    verbose_name = "Webhooks"
    demo_part = "records.webhooks.demo"
