"""The app configuration of SCIM provisioning."""

import uuid
from typing import Any

from django.apps import AppConfig
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.http import HttpRequest, HttpResponse


class ScimConfig(AppConfig):
    """Registers scim, its functions for SQLite, and the SCIM form of refusals under both mounts."""

    name = "scim"
    verbose_name = "Provisioning"

    def ready(self) -> None:
        """Connect the SQLite functions and the form of refusals, and say which default role sees the log."""
        from records.accounts.default_roles import register
        from records.accounts.models import DefaultRole
        from records.operations.error_handlers import answer_below

        register("scim.view_provisioningcall", DefaultRole.SITE_ADMINISTRATOR)
        connection_created.connect(add_functions, dispatch_uid="scim-functions")
        for mount in ("scim", "prodscim"):
            answer_below(mount, _shape)

    def add_to_backoffice(self) -> None:
        """Say on the page of a directory that its removals are stopped."""
        from records.backoffice import extension_points
        from scim.admin import directories

        extension_points.add(directories)


def _shape(request: HttpRequest, refusal: Any) -> HttpResponse:
    from scim.errors import response_for_refusal

    return response_for_refusal(refusal)


def add_functions(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Give a SQLite connection the text functions that `scim.expressions` uses; PostgreSQL has its own."""
    if connection.vendor == "sqlite":
        connection.connection.create_function("scim_folded", 1, _fold, deterministic=True)
        connection.connection.create_function("scim_text_of_id", 1, _text_of_id, deterministic=True)


def _fold(text: str | None) -> str | None:
    from records.accounts.employee_facts import fold_case

    return text and fold_case(text)


def _text_of_id(value: str | None) -> str:
    return str(uuid.UUID(value)) if value else ""
