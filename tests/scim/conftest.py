"""Fixtures: a directory with a token, and a client that speaks SCIM on either mount."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from records.accounts.models import Dialect, Directory
from records.sites.models import Site
from scim.models import ProvisioningCall
from tests.scim import people
from tests.shared_fixtures import shared_fixture

MOUNTS = ("/scim", "/prodscim")


def assert_error(response: Any, status: int, scim_type: str | None = None) -> None:
    """Check that an answer is the RFC 7644 error body of this status."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/scim+json"
    body = response.json()
    assert body["schemas"] == [people.ERROR]
    assert body["status"] == str(status)
    assert body["detail"]
    assert body.get("scimType") == scim_type, body


def last_outcome() -> str:
    """Return how the newest call ended, as the log has it."""
    return ProvisioningCall.objects.latest("id").outcome


class Scim:
    """A client with a provisioning token, on one mount."""

    def __init__(self, secret: str, mount: str = "/scim") -> None:
        self.secret = secret
        self.mount = mount
        self.client = Client(raise_request_exception=False)

    def send(
        self, method: str, path: str, body: Any = None, content_type: str = "application/scim+json", **headers: str
    ) -> Any:
        """Send a request; a body that is not text is written as JSON."""
        data = body if isinstance(body, bytes | str) else "" if body is None else json.dumps(body)
        all_headers = {
            "Authorization": f"Bearer {self.secret}",
            **{name.replace("_", "-"): v for name, v in headers.items()},
        }
        return self.client.generic(method, f"{self.mount}{path}", data, content_type, headers=all_headers)

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Any:
        """Send a GET."""
        from urllib.parse import urlencode

        return self.send("GET", f"{path}?{urlencode(query)}" if query else path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """Send a POST."""
        return self.send("POST", path, body, **headers)

    def put(self, path: str, body: Any, **headers: str) -> Any:
        """Send a PUT."""
        return self.send("PUT", path, body, **headers)

    def patch(self, path: str, *operations: dict[str, Any], **headers: str) -> Any:
        """Send a PATCH with the operations."""
        body = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": list(operations)}
        return self.send("PATCH", path, body, **headers)

    def apply(self, path: str, *operations: dict[str, Any], **headers: str) -> Any:
        """Send a PATCH where there is one; on the mount without it see the refusal, then go by the other."""
        if self.mount == "/scim":
            return self.patch(path, *operations, **headers)
        answer = self.patch(path, *operations, **headers)
        assert answer.status_code == 405, answer.content
        assert "PATCH" not in answer["Allow"]
        assert_error(answer, 405)
        return Scim(self.secret, "/scim").patch(path, *operations, **headers)

    def user(self, key: str) -> dict[str, Any]:
        """Return a user."""
        response = self.get(f"/Users/{key}")
        assert response.status_code == 200, response.content
        return response.json()

    def delete(self, path: str, **headers: str) -> Any:
        """Send a DELETE."""
        return self.send("DELETE", path, **headers)

    def ids(self, path: str, filter_: str) -> list[str]:
        """Return the ids that a filter finds, in order."""
        response = self.get(path, {"filter": filter_})
        assert response.status_code == 200, response.content
        return [resource["id"] for resource in response.json()["Resources"]]

    def add_user(self, user_name: str, **fields: Any) -> dict[str, Any]:
        """Add a user."""
        response = self.post("/Users", people.user_body(user_name, **fields))
        assert response.status_code == 201, response.content
        return response.json()

    def add_group(self, name: str, *members: str, **fields: Any) -> dict[str, Any]:
        """Add a group with members."""
        body = {
            "schemas": [people.GROUP],
            "displayName": name,
            "members": [{"value": one} for one in members],
            **fields,
        }
        response = self.post("/Groups", body)
        assert response.status_code == 201, response.content
        return response.json()

    def members(self, group: str) -> set[str]:
        """Return the ids of a group's members."""
        return {member["value"] for member in self.get(f"/Groups/{group}").json()["members"]}


@shared_fixture
def directory(site: Site) -> Directory:
    """Return a directory of the site."""
    return people.make_directory(site)


@shared_fixture
def documented_token(directory: Directory) -> str:
    """Return the secret of a token of the directory for the documented dialect."""
    return people.make_token(directory)


@shared_fixture
def user(documented_token: str) -> dict[str, Any]:
    """Return the user mira, as the answer to its POST on /scim."""
    return Scim(documented_token).add_user("mira")


@shared_fixture
def group(documented_token: str, user: dict[str, Any]) -> dict[str, Any]:
    """Return the group Team, whose member is mira, as the answer to its POST on /scim."""
    return Scim(documented_token).add_group("Team", user["id"])


@pytest.fixture
def scim_of(directory: Directory) -> Callable[..., Scim]:
    """Return a function that makes a client for a dialect, mount and directory."""
    return lambda dialect=Dialect.DOCUMENTED, mount="/scim", of=directory: Scim(people.make_token(of, dialect), mount)


@pytest.fixture
def scim(documented_token: str) -> Scim:
    """Return a client on /scim."""
    return Scim(documented_token)


@pytest.fixture(params=MOUNTS)
def both(request: pytest.FixtureRequest, documented_token: str) -> Scim:
    """Return a client on each mount in turn."""
    return Scim(documented_token, request.param)
