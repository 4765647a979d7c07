"""The registry of the models that can be imported and exported, with their resources."""

from django.db import models

from records.backoffice import rooms
from records.backoffice.transfer.resources import RecordResource

_resources: dict[type[models.Model], type[RecordResource]] = {}


def transferable(resource: type[RecordResource]) -> type[RecordResource]:
    """Offer the resource on the pages of its model (a decorator)."""
    _resources[resource.model] = resource
    return resource


def resource_of(model: type[models.Model]) -> type[RecordResource] | None:
    """Return the resource of a model, or None if it has none."""
    rooms.load()
    return _resources.get(model)
