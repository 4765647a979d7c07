"""The customers room."""

from django.apps import AppConfig


class CustomersConfig(AppConfig):
    """Registers records.customers."""

    name = "records.customers"
    label = "customers"
    verbose_name = "Customers"
