"""What the generic checks send: a valid body and a record for each operation, from its serializer and its model."""

import datetime
import itertools
import re
from decimal import Decimal
from importlib import import_module
from typing import Any

from django.conf import settings
from django.db import models

from materials.models import Material
from records.accounts.models import DefaultRole
from records.actions.serializers import ActionSerializer
from records.attachments.serializers import AttachmentSerializer
from records.operations import fields
from records.operations.credentials import SubscriptionKeyAuthentication
from records.operations.operation import all_operations
from records.operations.serializers import ChildRows, IdList, WireSerializer
from records.reference.models import SiteEntry
from records.sites.models import EntityFolder, Site, SiteRecord
from records.sites.writing import add_record
from tests import make
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.complaints import make_complaint
from tests.make.documents import make_document, version_of
from tests.make.items import make_item

_counter = itertools.count(1)

ENDPOINTS = {
    viewset: str(pattern.pattern)
    for pattern in import_module(settings.ROOT_URLCONF).urlpatterns
    for inner in getattr(pattern, "url_patterns", [])
    if (viewset := getattr(getattr(inner, "callback", None), "cls", None)) is not None
}
OPERATIONS = list(all_operations())
KEY_OPERATIONS = [
    (operation, viewset)
    for operation, viewset in OPERATIONS
    if tuple(viewset.authentication_classes) == (SubscriptionKeyAuthentication,) and viewset in ENDPOINTS
]
"""The operations that a subscription key alone opens."""
ENDPOINT_OPERATIONS = [(operation, viewset) for operation, viewset in OPERATIONS if viewset in ENDPOINTS]
"""The operations of every endpoint, those included that want an access token and a site as well."""


def ids_of(operations: list[Any]) -> list[str]:
    """Return the ids under which parametrised operations are shown."""
    return [operation.name for operation, _ in operations]


def path_of(operation: Any, viewset: Any, key: Any = "") -> str:
    """Return the operation's path, with an id where it takes one."""
    return re.sub(r"<\w+:id>", str(key), "/" + ENDPOINTS[viewset] + operation.pattern)


def model_of(operation: Any) -> type[models.Model]:
    """Return the model whose Id the operation's path carries, or that it adds."""
    return BY_OPERATION.get(operation.name, {}).get("model") or (operation.request or operation.response).Meta.model


def record_for(operation: Any, site: Site) -> Any:
    """Return a record of the site that the operation can act on."""
    return entry(model_of(operation), site)


def body_for(operation: Any, site: Site) -> dict[str, Any]:
    """Return a body that the operation accepts, with every field filled that can be."""
    special = BY_OPERATION.get(operation.name, {}).get("body")
    return special(site) if special else full_body(operation.request, site)


def full_body(serializer: type[WireSerializer], site: Site) -> dict[str, Any]:
    """Return a body with a value for each writable field of a serializer."""
    body: dict[str, Any] = {}
    for name, field in serializer.wire_fields().items():
        value = None if field.read_only or name == "Id" else wire_value(field, name, site)
        if value is not None:
            body[name] = value
    return {**body, **OVERRIDES.get(serializer.__name__, {})}


def wire_value(field: Any, name: str, site: Site) -> Any:  # noqa: C901 (one line a kind)
    """Return a valid JSON value for a wire field."""
    match field:
        case ChildRows():
            return [full_body(field.serializer_class, site)]
        case IdList():
            return [{"Id": str(entry(field.model, site).pk)}]
        case fields.ReferenceField():
            if issubclass(field.model, EntityFolder):
                return None
            return str(entry(field.model, site).pk)
        case fields.EmailAddressField():
            return "mira@example.com"
        case fields.ChoiceTextField():
            return next(iter(field.choices))
        case fields.TextField():
            return f"{name} {next(_counter)}"
        case fields.DateTimeField():
            return "2020-02-29T12:30:15.123Z"
        case fields.NumberField():
            return 12.5
        case fields.IntegerField():
            return 3
        case fields.BooleanField():
            return False
    return None


def entry(model: Any, site: Site) -> Any:
    """Return a list entry, or a record, that the site may point at."""
    if model._meta.label in MAKERS:
        return MAKERS[model._meta.label](site)
    if issubclass(model, SiteRecord):
        return add_record(model(site_id=site.pk), values_for(model, site), author=make.SYSTEM, operation="Make")
    if issubclass(model, SiteEntry):
        return model.objects.create(site=site, name=f"{model.__name__} {next(_counter)}")
    return model.objects.first() or model.objects.create(name=f"{model.__name__} {next(_counter)}")


def values_for(model: Any, site: Site) -> dict[str, Any]:
    """Return values for the columns that a record of the model cannot do without."""
    values: dict[str, Any] = {}
    for field in model._meta.concrete_fields:
        if field.name in ("id", "site") or field.blank or not field.editable:
            continue
        if isinstance(field, models.ForeignKey):
            values[field.name] = entry(field.related_model, site)
        elif isinstance(field, models.DateTimeField):
            values[field.name] = datetime.datetime(2020, 2, 29, tzinfo=datetime.UTC)
        elif isinstance(field, models.DecimalField):
            values[field.name] = Decimal("12.5")
        elif isinstance(field, models.CharField | models.TextField):
            values[field.name] = field.choices[0][0] if field.choices else f"{field.name} {next(_counter)}"
    return values


MAKERS: dict[str, Any] = {
    "actions.Action": lambda site: make_action(site),
    "attachments.Attachment": lambda site: make_attachment(site),
    "accounts.User": lambda site: make.make_user(site=site, role=DefaultRole.READER),
    "complaints.Complaint": make_complaint,
    "documents.Document": make_document,
    "documents.DocumentVersion": lambda site: version_of(make_document(site)),
    "sites.EntityFolder": make.make_folder,
}
"""Makers for models that `values_for` cannot make, by label."""


def action_body(site: Site) -> dict[str, Any]:
    """Return the body of an action about an item; only what is Done may be judged."""
    body = {**full_body(ActionSerializer, site), "RecordId": str(make_item(site).pk), "RecordStatus": "Open"}
    return {name: value for name, value in body.items() if name not in ("FindingId", "Effective")}


def attachment_body(site: Site) -> dict[str, Any]:
    """Return the body of an attachment on an item."""
    body = {**full_body(AttachmentSerializer, site), "RecordId": str(make_item(site).pk)}
    return {name: value for name, value in body.items() if name != "FindingId"}


BY_OPERATION: dict[str, dict[str, Any]] = {
    "AddAction": {"body": lambda site: action_body(site)},
    "AddAttachment": {"body": lambda site: attachment_body(site)},
    "DeleteMaterial": {"model": Material},
    "UpdateAction": {"body": lambda site: action_body(site)},
}
"""What is special about single operations: `model`, or `body(site)`."""

_PLACE = {"Lat": "-41.270632", "Lng": "173.2840"}
_FILE = {"FileContent": "TGFyZGVy"}
OVERRIDES: dict[str, dict[str, Any]] = {
    "AttachmentSerializer": _FILE,
    "CustomerSerializer": _PLACE,
    "CustomerChangeSerializer": _PLACE,
    "DocumentSerializer": _FILE,
    "UpdateDocumentSerializer": _FILE,
}
"""Fields that need a value of their own, by serializer."""
