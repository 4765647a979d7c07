"""How fields and values of the history are shown to users."""

import datetime
import re
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.utils.text import capfirst

from records.backoffice.datetimes import NOTHING, shown
from records.history.digests import ERASED, is_erased

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def field_label(model: type[models.Model], name: str) -> str:
    """Return a field's label; `Employment history: company` for a cell of a child row."""
    parts: list[str] = []
    owner: Any = model
    for part in name.split("."):
        try:
            field = owner._meta.get_field(part)
        except (FieldDoesNotExist, AttributeError):
            parts.append(part.replace("_", " "))
            owner = None
            continue
        if field.auto_created and not field.concrete:
            owner = field.related_model
            parts.append(str(owner._meta.verbose_name_plural))
        else:
            parts.append(str(field.verbose_name))
            owner = getattr(field, "related_model", None)
    return capfirst(": ".join(parts))


def printed(value: Any, *, day: bool = False) -> str:
    """Return a value of the history in readable form."""
    if value is None or value in ("", [], {}):
        return NOTHING
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, dict):
        if value.keys() == {"id", "name"}:
            return str(value["name"] or value["id"])
        if is_erased(value):
            return f"Erased ({value[ERASED]})"
        return "; ".join(
            f"{key.replace('_', ' ')}: {printed(part, day=day)}" for key, part in value.items() if key != "idx"
        )
    if isinstance(value, list):
        return ", ".join(printed(part, day=day) for part in value)
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        return shown(datetime.datetime.fromisoformat(value), day=day)
    return str(value)
