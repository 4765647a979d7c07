"""The app configuration of complaints."""

from django.apps import AppConfig


class ComplaintsConfig(AppConfig):
    """Registers records.complaints."""

    name = "records.complaints"
    label = "complaints"
    verbose_name = "Complaints"
