"""Plain functions that make directories, tokens and bodies for provisioning tests."""

import itertools
from datetime import timedelta
from typing import Any

from records.accounts import peppers
from records.accounts.models import Dialect, Directory, ProvisioningToken
from records.history.trail import now
from records.sites.models import Site
from tests import make

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
EMPLOYEE = "urn:ietf:params:scim:schemas:extension:employee:2.0:User"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
SITE = "urn:ietf:params:scim:schemas:extension:site:2.0:Group"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
_counter = itertools.count(1)


def make_directory(site: Site, **fields: Any) -> Directory:
    """Make a directory with a service account, which sees the site."""
    number = next(_counter)
    account = make.make_user(
        f"directory{number}", is_service_account=True, given_name="Directory", family_name=str(number)
    )
    directory = Directory.objects.create(name=f"Directory {number}", home_site=site, service_account=account, **fields)
    directory.sites.add(site)
    return directory


def make_token(directory: Directory, dialect: Dialect = Dialect.DOCUMENTED, **fields: Any) -> str:
    """Make a token of the directory and return its secret."""
    secret = peppers.new_secret("lp")
    ProvisioningToken.objects.create(
        directory=directory,
        dialect=dialect,
        name=f"{dialect.label} token",
        digest=peppers.digest(secret),
        hint="",
        **{"last_used": now() - timedelta(days=1), **fields},
    )
    return secret


def without_unassigned(document: Any) -> Any:
    """Return a document without empty texts and lists: they are unassigned (RFC 7643, 2.5), which models ignore."""
    if not isinstance(document, dict):
        return document
    return {name: without_unassigned(value) for name, value in document.items() if value not in ("", [])}


def replace(path: str, value: Any) -> dict[str, Any]:
    """Return an operation of a PATCH that replaces an attribute."""
    return {"op": "replace", "path": path, "value": value}


def entra_op(path: str, value: Any, op: str = "Replace") -> dict[str, Any]:
    """Return an operation of a PATCH as Entra ID sends it, whose `op` is capitalised."""
    return {"op": op, "path": path, "value": value}


def user_body(user_name: str, **fields: Any) -> dict[str, Any]:
    """Return a body for a POST of a user, as the interface document shows it."""
    body = {
        "schemas": [USER, EMPLOYEE],
        "userName": user_name,
        "name": {"familyName": "Novak", "givenName": "Mira", "honorificPrefix": "Ms"},
        "userType": "Employee",
        "preferredLanguage": "en-GB",
        "locale": "en-GB",
        "emails": [{"value": "mira@corp.local", "type": "work"}],
        EMPLOYEE: {"position": "Baker", "natureOfEmployment": "Employee", "folder": "Line 1"},
        "externalId": "",
    }
    return {**body, **fields}
