"""The app configuration of materials."""

from typing import Any

from django.apps import AppConfig
from django.http import HttpRequest, HttpResponse


class MaterialsConfig(AppConfig):
    """Registers materials, and the renderer of errors below /materials that occur outside an operation."""

    name = "materials"

    def ready(self) -> None:
        """Register the renderer of these errors."""
        from records.operations.error_handlers import answer_below

        answer_below("materials", _refusal)


def _refusal(request: HttpRequest, error: Any) -> HttpResponse:
    from materials import renderers

    return renderers.refusal(request, error)
