"""The names of attributes: how directories know the fields of the models, and names in any case."""

from collections.abc import Mapping
from typing import Any

FALSE = ("false", "f", "no", "n", "off", "0", "0.0")
"""The texts and numbers that the models read as the boolean false, as text in lower case."""

_NAMES = {
    "user_name": "userName",
    "given_name": "name.givenName",
    "first_name": "name.givenName",
    "family_name": "name.familyName",
    "last_name": "name.familyName",
    "honorific_prefix": "name.honorificPrefix",
    "title": "name.honorificPrefix",
    "display_name": "displayName",
    "name": "displayName",
    "external_id": "externalId",
    "user_type": "userType",
    "preferred_language": "preferredLanguage",
    "email": "emails",
    "email_address": "emails",
    "is_active": "active",
    "nature_of_employment": "natureOfEmployment",
    "entity_folder": "folder",
    "code": "employeeNumber",
    "reporting_to": "manager",
    "phone": "phoneNumbers",
    "mobile": "phoneNumbers",
    "address": "addresses",
    "is_archived": "archived",
    "directory": "owning directory",
    "hidden_from_directory": "hidden from the directory",
    "recovery_address": "recovery address",
    "pending_address": "recovery address to be confirmed",
}


def by_lower_name(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values under their names in lower case, because the case of an attribute's name does not matter."""
    return {name.lower(): value for name, value in values.items()}


def id_in(reference: object) -> str:
    """Return the id with which a reference to a resource ends; an id alone is returned as it is."""
    return str(reference).rstrip("/").rpartition("/")[2]


def wire_name(field: str) -> str:
    """Return the attribute that a directory knows for a field of the model or of its child rows."""
    head = field.split(".")[0]
    return _NAMES.get(head, head)
