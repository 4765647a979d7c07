"""Which changes of a site's chain a caller sees, and with which names (DECISIONS 11.2, 13.13)."""

import uuid
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from typing import Any

from django.apps import apps
from django.db import models

from records.accounts import access, default_roles
from records.history import visibility
from records.history.digests import ERASED_FROM
from records.history.models import ChainHead, Change
from records.operations import operation
from records.operations.values import show_date_time
from records.sites.models import permission_on

COLUMNS = ("number", "at", "model", "record_id", "operation", "channel", "author_id", "fields")


@cache
def entities() -> dict[str, type[models.Model]]:
    """Return the models whose changes can be in the feed, by their name in the singular."""
    models_of_feed = (model for model in apps.get_models() if hasattr(model, "history_role"))
    return {model.__name__: model for model in models_of_feed}


@lru_cache(maxsize=256)
def rank_of(permissions: access.Permissions) -> int:
    """Return the rank of the highest default role of which the caller has all permissions; 0 for Reader and below."""
    highest = 0
    for place, role in enumerate(default_roles.ORDER):
        if all(access.contains_any(permissions, permission) for permission in default_roles.permissions_of(role)):
            highest = place
    return highest


def last_number(site_id: uuid.UUID) -> int:
    """Return the newest number of the site's chain."""
    return ChainHead.objects.filter(chain=site_id).values_list("number", flat=True).first() or 0


def rows(
    site_id: uuid.UUID,
    permissions: access.Permissions,
    *,
    after: int,
    up_to: int,
    limit: int,
    only: Collection[str] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the feed with a number above `after` and at most `up_to`, in order; one query.

    The row of a chain's head is locked until a write ends, so whatever has a number is committed and nothing comes
    below it later. `only` names entities. A caller sees no changes of records that the caller may not read.
    """
    rank = rank_of(permissions)
    labels = [
        model._meta.label
        for name, model in entities().items()
        if (not only or name in only) and access.contains_any(permissions, permission_on(model))
    ]
    changes = Change.objects.filter(
        chain=site_id,
        number__gt=after,
        number__lte=up_to,
        model__in=labels,
        lowest_role__in=visibility.ROLES[: rank + 1],
    )
    for values in changes.order_by("number").values_list(*COLUMNS)[:limit]:
        yield _row(dict(zip(COLUMNS, values, strict=True)), rank)


def _row(change: dict[str, Any], rank: int) -> dict[str, object]:
    model: Any = apps.get_model(change["model"])
    private = visibility.private_fields(model)
    names = (entry["field"].partition(".")[0] for entry in change["fields"] if entry["field"] != ERASED_FROM)
    return {
        "Number": change["number"],
        "Date": show_date_time(change["at"]),
        "Entity": model.__name__,
        "RecordId": str(change["record_id"]),
        "Operation": change["operation"],
        "Channel": change["channel"],
        "AuthorId": change["author_id"] and str(change["author_id"]),
        "Fields": list(
            dict.fromkeys(
                wire_name(model, name)
                for name in names
                if visibility.ROLES.index(private.get(name, visibility.READER)) <= rank
            )
        ),
    }


@cache
def wire_name(model: type[models.Model], name: str) -> str:
    """Return the name of a model's field in the interface; one that it does not show is named in the same style."""
    serializer = _serializer_of(model)
    if serializer is not None:
        wire: str = serializer.wire_name(name)
        if wire != name or name in serializer.wire_fields():
            return wire
    camel = serializer is not None and all(field[0].islower() for field in serializer.wire_fields() if field != "Id")
    first, *other_words = name.split("_")
    return "".join([first if camel else first.capitalize(), *(part.capitalize() for part in other_words)])


def _serializer_of(model: type[models.Model]) -> Any:
    for declared, _ in operation.all_operations():
        if declared.method == "GET" and getattr(getattr(declared.response, "Meta", None), "model", None) is model:
            return declared.response
    return None
