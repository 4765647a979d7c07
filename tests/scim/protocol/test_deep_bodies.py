"""Bodies that are nested more deeply than any resource are refused, however deep and wherever, and change nothing."""

from typing import Any

import pytest

from records.accounts.models import Role, User
from records.history.models import Change
from scim.requests import DEEPEST
from tests.scim.conftest import Scim, assert_error

DEPTHS = ((DEEPEST + 2, "arrays"), (450, "objects"), (900, "arrays"), (5_000, "objects"))
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
PLACES = {
    "an undeclared attribute": ("POST", "/Users", '{"userName": "x", "other": HERE}'),
    "emails": ("PUT", "/Users/USER", '{"userName": "x", "emails": HERE}'),
    "an extension": ("POST", "/Users", f'{{"userName": "x", "{ENTERPRISE}": HERE}}'),
    "a PATCH": ("PATCH", "/Users/USER", '{"Operations": [{"op": "replace", "value": HERE}]}'),
    "members": ("PUT", "/Groups/GROUP", '{"members": HERE}'),
    "Bulk": ("POST", "/Bulk", '{"Operations": HERE}'),
    "data of Bulk": (
        "POST",
        "/Bulk",
        '{"Operations": [{"method": "POST", "path": "/Users", "bulkId": "a", "data": {"userName": "x", "b": HERE}}]}',
    ),
}


def nested_body(depth: int, how: str) -> str:
    """Return so many levels of arrays or of objects."""
    return "[" * depth + "]" * depth if how == "arrays" else '{"a":' * depth + "1" + "}" * depth


def send(scim: Scim, place: str, value: str) -> Any:
    """Send a body with the JSON text at this place."""
    method, path, body = PLACES[place]
    user = next(iter(scim.ids("/Users", 'userName eq "mira"')))
    group = next(iter(scim.ids("/Groups", 'displayName eq "Team"')))
    return scim.send(method, path.replace("USER", user).replace("GROUP", group), body.replace("HERE", value))


@pytest.mark.parametrize(("depth", "how"), DEPTHS)
@pytest.mark.parametrize("place", PLACES)
def test_a_body_that_is_nested_too_deeply_is_refused(scim: Scim, place: str, depth: int, how: str) -> None:
    scim.add_user("mira")
    scim.add_group("Team")
    before = (User.objects.count(), Role.objects.count(), Change.objects.count())
    assert_error(send(scim, place, nested_body(depth, how)), 400, "invalidSyntax")
    assert (User.objects.count(), Role.objects.count(), Change.objects.count()) == before


def test_what_is_not_as_deep_is_read(scim: Scim) -> None:
    scim.add_user("mira")
    scim.add_group("Team")
    assert send(scim, "an undeclared attribute", nested_body(DEEPEST - 2, "objects")).status_code == 201
