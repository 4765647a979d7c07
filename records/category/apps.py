"""The category room."""

from django.apps import AppConfig


class CategoryConfig(AppConfig):
    """Registers records.category."""

    name = "records.category"
    label = "category"
    verbose_name = "Category"
