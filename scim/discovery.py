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
    documents = [model.to_schema().model_dump() for model in _MODELS]
    for document in documents:
        document["name"] = _NAMES.get(document["name"], document["name"])
        _on_one_line(document)
    return documents


def _on_one_line(element: Representation) -> None:
    """Put the description of a schema or attribute, and those of all attributes in it, on one line each."""
    element["description"] = " ".join(element.get("description", "").split())
    for attribute in (*element.get("attributes", ()), *element.get("subAttributes", ())):
        _on_one_line(attribute)


def schema_documents(caller: Caller) -> list[Representation]:
    """Return every Schema; the documented shape has `referenceTypes` on each attribute."""
    return [_for_caller(caller, document) for document in _schemas()]


def _for_caller(caller: Caller, document: Representation) -> Representation:
    attributes = document["attributes"]
    if caller.reads_rfc:
        for urn, path in ON_REQUEST:
            if urn == document["id"]:
                attributes = [_on_request(attribute, path) for attribute in attributes]
    if document["id"] == SITE:
        # The directory may send only its own sites. A Group without a site gets the directory's home site.
        overrides = {"canonicalValues": [str(key) for key in caller.site_ids], "required": False}
        attributes = [
            {**attribute, **overrides} if attribute["name"] == "value" else attribute for attribute in attributes
        ]
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
    return {
        **attribute,
        "subAttributes": [_on_request(sub_attribute, sub) for sub_attribute in attribute["subAttributes"]],
    }


def _with_reference_types(attribute: Representation) -> Representation:
    result = {"referenceTypes": [], **attribute}
    if "subAttributes" in attribute:
        result["subAttributes"] = [_with_reference_types(sub) for sub in attribute["subAttributes"]]
    return result


def resource_type_documents(caller: Caller) -> list[Representation]:
    """Return both ResourceTypes, User first, in the shape that the token reads (DECISIONS 7.8)."""
    return [_resource_type(caller, kind) for kind in ("User", "Group")]


def _resource_type(caller: Caller, kind: str) -> Representation:
    model = MODELS[kind]
    extensions = EXTENSIONS[kind]
    if caller.reads_rfc:
        schema_extensions = [{"schema": urn, "required": False} for urn in extensions]
    else:
        schema_extensions = [{"Schema": urn, "IsRequired": False} for urn in extensions]
    return {
        "schemas": [_RESOURCE_TYPE] if caller.reads_rfc else None,
        "id": kind,
        "name": kind,
        "description": {"User": "Users, who are employees", "Group": "Roles of a site"}[kind],
        "endpoint": f"/{kind}s",
        "schema": str(model.__schema__),
        "schemaExtensions": schema_extensions,
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
