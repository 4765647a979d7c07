"""The employees room."""

from django.apps import AppConfig


class EmployeesConfig(AppConfig):
    """Registers records.employees."""

    name = "records.employees"
    label = "employees"
    verbose_name = "Employees"
