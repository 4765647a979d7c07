"""The permission matrix: one row per kind of record, one column per action."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib.auth.models import Permission
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop

from records.backoffice.fields import as_number

COLUMNS = (gettext_noop("view"), gettext_noop("add"), gettext_noop("change"), gettext_noop("archive"))
CAN = {
    "view": gettext_noop("Can view %(kind)s"),
    "add": gettext_noop("Can add %(kind)s"),
    "change": gettext_noop("Can change %(kind)s"),
}


class PermissionMatrix(forms.SelectMultiple):
    """Checkboxes in a table; a permission without a column is at the end of its row with its own label."""

    template_name = "accounts/matrix.html"

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, object]:
        """Return the table's context."""
        context = super().get_context(name, None, attrs)
        permission_ids = {number for key in value or () if (number := as_number(key)) is not None}
        context["columns"] = [gettext(column).capitalize() for column in COLUMNS]
        choices: Any = self.choices
        context["rows"] = self.rows(choices.queryset, permission_ids)
        return context

    def optgroups(self, name: str, value: object, attrs: object = None) -> Any:
        """Return an empty list: the table contains the choices."""
        return []

    def rows(self, permissions: Iterable[Permission], permission_ids: set[int]) -> list[dict[str, Any]]:
        """Return one row per kind of record: its name, a cell per column, and the other permissions."""
        by_model: dict[Any, dict[str, Permission]] = defaultdict(dict)
        for permission in permissions:
            by_model[permission.content_type][permission.codename] = permission
        rows = []
        for content_type, by_codename in by_model.items():
            model = content_type.model_class()
            if model is None:
                continue
            other_permissions = dict(by_codename)
            kind = model._meta.verbose_name
            cells = [
                _cell(
                    other_permissions.pop(f"{column}_{content_type.model}", None),
                    permission_ids,
                    CAN.get(column, ""),
                    kind,
                )
                for column in COLUMNS
            ]
            other_cells = [
                _cell(permission, permission_ids)
                for permission in sorted(other_permissions.values(), key=lambda p: p.codename)
            ]
            name = capfirst(str(model._meta.verbose_name_plural))
            rows.append({"name": name, "app": content_type.app_label, "cells": cells, "others": other_cells})
        return sorted(rows, key=lambda row: (row["app"] == "reference", row["app"], row["name"]))


def permission_words(name: str) -> str:
    """Return what a permission of a room allows, from its stored English name: `Archive and restore items`."""
    text = gettext(name).removeprefix("Can ")
    return f"{text[:1].upper()}{text[1:]}"


def _cell(
    permission: Permission | None, permission_ids: set[int], pattern: str = "", kind: object = ""
) -> dict[str, object] | None:
    """Return a checkbox; Django names the permissions that every kind has after their `pattern`."""
    if permission is None:
        return None
    name = gettext(pattern) % {"kind": kind} if pattern else gettext(permission.name)
    return {"key": permission.pk, "checked": permission.pk in permission_ids, "name": name}
