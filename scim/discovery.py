"""The service's description of itself, in both shapes: ServiceProviderConfig, ResourceTypes and Schemas."""

from functools import cache
from typing import Any

from django.conf import settings
from scim2_models import ResourceType as ResourceTypeModel
from scim2_models import Schema as SchemaModel
from scim2_models import ServiceProviderConfig as ConfigModel

from scim import bulk
from scim.callers import Caller
from scim.representations import Representation
from scim.requests import DEFAULT_COUNT, LARGEST_COUNT
from scim.schemas import (
    EXTENSIONS,
    MODELS,
    ON_REQUEST,
    SITE,
    EmployeeExtension,
    EnterpriseExtension,
    Group,
    SiteExtension,
    User,
)

_RESOURCE_TYPE = "urn:ietf:params:scim:schemas:core:2.0:ResourceType"
_CONFIG = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"
_MODELS: tuple[Any, ...] = (
    User,
    Group,
    EmployeeExtension,
    EnterpriseExtension,
    SiteExtension,
    ResourceTypeModel,
    ConfigModel,
    SchemaModel,
)
_NAMES = {"EmployeeExtension": "Employee User", "EnterpriseExtension": "Enterprise User", "SiteExtension": "Site Group"}


@cache
def _schemas() -> list[Representation]:
    found = [model.to_schema().model_dump() for model in _MODELS]
    for document in found:
        document["name"] = _NAMES.get(document["name"], document["name"])
        _on_one_line(document)
    return found


def _on_one_line(described: Representation) -> None:
    """Put the descriptions of these attributes and of all sub-attributes on one line each."""
    described["description"] = " ".join(described.get("description", "").split())
    for attribute in (*described.get("attributes", ()), *described.get("subAttributes", ())):
        _on_one_line(attribute)


def schema_documents(caller: Caller) -> list[Representation]:
    """Return every Schema; the documented shape has `referenceTypes` on each attribute."""
    return [_located(caller, document) for document in _schemas()]


def _located(caller: Caller, document: Representation) -> Representation:
    attributes = document["attributes"]
    if caller.reads_rfc:
        for urn, path in ON_REQUEST:
            if urn == document["id"]:
                attributes = [_on_request(found, path) for found in attributes]
    if document["id"] == SITE:
        # The directory may send only its own sites. A Group without a site gets the directory's home site.
        given = {"canonicalValues": [str(key) for key in caller.site_ids], "required": False}
        attributes = [{**found, **given} if found["name"] == "value" else found for found in attributes]
    if not caller.reads_rfc:
        attributes = [_with_reference_types(attribute) for attribute in attributes]
    meta = {"resourceType": "Schema", "location": f"{caller.base}/Schemas/{document['id']}"}
    return {**document, "attributes": attributes, "meta": meta}


def _on_request(attribute: Representation, path: str) -> Representation:
    """Return the attribute, with `returned` set to `request` on the sub-attribute at the path."""
    head, _, sub = path.partition(".")
    if attribute["name"] != head:
        return attribute
    if not sub:
        return {**attribute, "returned": "request"}
    return {**attribute, "subAttributes": [_on_request(found, sub) for found in attribute["subAttributes"]]}


def _with_reference_types(attribute: Representation) -> Representation:
    found = {"referenceTypes": [], **attribute}
    if "subAttributes" in attribute:
        found["subAttributes"] = [_with_reference_types(sub) for sub in attribute["subAttributes"]]
    return found


def resource_type_documents(caller: Caller) -> list[Representation]:
    """Return both ResourceTypes, User first, in the shape that the token reads (DECISIONS 7.8)."""
    return [_resource_type(caller, kind) for kind in ("User", "Group")]


def _resource_type(caller: Caller, kind: str) -> Representation:
    model = MODELS[kind]
    extensions = EXTENSIONS[kind]
    if caller.reads_rfc:
        listed = [{"schema": urn, "required": False} for urn in extensions]
    else:
        listed = [{"Schema": urn, "IsRequired": False} for urn in extensions]
    return {
        "schemas": [_RESOURCE_TYPE] if caller.reads_rfc else None,
        "id": kind,
        "name": kind,
        "description": {"User": "Users, who are employees", "Group": "Roles of a site"}[kind],
        "endpoint": f"/{kind}s",
        "schema": str(model.__schema__),
        "schemaExtensions": listed,
        "meta": {"resourceType": "ResourceType", "location": f"{caller.base}/ResourceTypes/{kind}"},
    }


def service_provider_config(caller: Caller) -> Representation:
    """Return the features that the mount supports, and none that it does not support."""
    return {
        "schemas": [_CONFIG],
        "patch": {"supported": caller.mount == "scim"},
        "bulk": {"supported": True, "maxOperations": bulk.MOST_OPERATIONS, "maxPayloadSize": bulk.LARGEST_PAYLOAD},
        "filter": {"supported": True, "maxResults": LARGEST_COUNT},
        "changePassword": {"supported": caller.directory.may_set_passwords},
        "sort": {"supported": True},
        "etag": {"supported": True},
        "pagination": {
            "cursor": True,
            "index": True,
            "defaultPaginationMethod": "index",
            "defaultPageSize": DEFAULT_COUNT,
            "maxPageSize": LARGEST_COUNT,
        },
        "authenticationSchemes": [
            {
                "type": "oauthbearertoken",
                "name": "OAuth Bearer Token",
                "description": "A token that is made on the directory's page in the back-office; "
                f"each may make {settings.SCIM_RATE_LIMIT} requests a minute.",
                "specUri": "https://www.rfc-editor.org/info/rfc6750",
                "primary": True,
            }
        ],
        "meta": {
            "resourceType": "ServiceProviderConfig",
            "location": f"{caller.base}/ServiceProviderConfig",
        },
    }
