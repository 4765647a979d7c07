"""The app configuration of materials."""

from django.apps import AppConfig


class MaterialsConfig(AppConfig):
    """Registers materials."""

    name = "materials"
    label = "materials"
    verbose_name = "Materials"
