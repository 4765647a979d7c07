"""The items room."""

from django.apps import AppConfig


class ItemsConfig(AppConfig):
    """Registers records.items."""

    name = "records.items"
    label = "items"
    verbose_name = "Items"
