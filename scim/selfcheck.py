"""The connection test: makes a directory's requests to this service with a marked test user, and explains them."""

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings

from records.accounts.brake import forget_removals_of
from records.accounts.models import Dialect, Directory
from records.history.trail import Author
from scim.callers import Caller
from scim.inner import Inner, send
from scim.mounts import Mount
from scim.schemas import PATCH_OP, USER

MARK = "connection-check"
_WHY = {
    400: "The service refused the request as invalid.",
    401: "The service did not accept the caller.",
    403: "The directory may not do this here.",
    404: "The service did not find a resource that should exist.",
    409: "A value that must be unique is in use already.",
    429: "Too many requests were made in this minute; try again in the next one.",
    500: "An internal error occurred; the log of the service has it under the request id.",
    503: "The database did not answer.",
}


_STOPPED_MESSAGE = "Mass removal was stopped; confirm the removals on this page first, then test the connection."


@dataclass(frozen=True, slots=True)
class Step:
    """One request of the test: what it is, how it ended, and the reason in plain words."""

    name: str
    request: str
    status: int
    passed: bool
    explanation: str


def check(directory: Directory, mount: Mount, author: Author) -> list[Step]:
    """Run the test for a directory on a mount and return its steps.

    The first failed step ends the test; the test user is always deleted. The requests go through the same views as
    those of the directory and act as the directory; the history names the author.
    """
    return _Check(directory, mount, author).run()


def rules_of(directory: Directory) -> list[str]:
    """Return in plain words what the directory may do here, and which limits apply to it (DECISIONS 9.5, 9.6)."""
    sites = ", ".join(str(site) for site in directory.sites.filter(is_archived=False).order_by("name", "pk"))
    people, percent = settings.DIRECTORY_BRAKE_PEOPLE, settings.DIRECTORY_BRAKE_PERCENT
    days = settings.PROVISIONING_TOKEN_DAYS
    roles = "also roles with administrative permissions" if directory.may_administer else "no administrative permission"
    rules = [
        f"It sees and gives the roles of {sites or directory.home_site}, {roles}.",
        "It can take over an account that no directory owns, if it may give everything that the account holds.",
        "It can switch off an account that holds more than it may give, but cannot change how that account signs in.",
        "It can set the passwords of accounts that it made."
        if directory.may_set_passwords
        else "Passwords that it sends are ignored.",
        f"Within an hour it can remove at most {people} people, or {percent} % of those it owns if that is more.",
        f"A token ends after {days} days at the latest." if days else "A token can be valid until it is revoked.",
    ]
    if directory.stopped is not None:
        rules.append("Its removals are refused at present: a Site Administrator has to confirm them first.")
    return rules


class _Check:
    """One run of the test."""

    def __init__(self, directory: Directory, mount: Mount, author: Author) -> None:
        sites = directory.sites.filter(is_archived=False).values_list("pk", flat=True)
        self.caller = Caller(
            directory=directory,
            site_ids=tuple(sorted({directory.home_site_id, *sites})),
            token_id=None,
            token_name="Connection check",  # noqa: S106 (a name, not a secret)
            dialect=Dialect.DOCUMENTED,
            mount=mount,
            author=author,
            reads_rfc=False,
        )
        self.inner = Inner(self.caller, is_counted=False)
        self.mount = mount
        self.name = f"{MARK}-{secrets.token_hex(4)}@larder.invalid"
        self.created_id = self.user_id = ""
        self.is_stopped = directory.stopped is not None
        self.steps: list[Step] = []

    def run(self) -> list[Step]:
        """Make the requests in the order in which a directory makes them.

        A stopped directory could not delete the test user, so in that case none is created. The brake does not count
        the test user.
        """
        if self.is_stopped:
            self.steps.append(
                Step("Check that removals are not stopped", f"/{self.mount}", 403, False, _STOPPED_MESSAGE)
            )
            return self.steps
        try:
            self._go()
        finally:
            if self.created_id:
                self._send("Remove the test user", "DELETE", f"/Users/{self.created_id}", expects=204)
            forget_removals_of(self.caller.directory, self.user_id)
        return self.steps

    def _go(self) -> None:
        query = urlencode({"filter": f'userName eq "{self.name}"'}, quote_via=quote)
        body = {
            "schemas": [USER],
            "userName": self.name,
            "name": {"givenName": "Connection", "familyName": "Check"},
            "emails": [{"value": self.name, "type": "work", "primary": True}],
            "active": True,
        }
        if self._send("Read what the service can do", "GET", "/ServiceProviderConfig") is None:
            return
        if self._send("List users", "GET", "/Users?count=1") is None:
            return
        response = self._send("Search for a user who does not exist", "GET", f"/Users?{query}", holds=_nobody)
        if response is None:
            return
        user = self._send("Create a test user", "POST", "/Users", body, expects=201)
        if user is None:
            return
        self.created_id = self.user_id = str(user["id"])
        response = self._send("Find the test user by name", "GET", f"/Users?{query}", holds=_one)
        if response is None or not self._change(user):
            return
        self._send("List groups without members", "GET", "/Groups?excludedAttributes=members&count=1")
        user_id, self.created_id = self.created_id, ""
        if self._send("Delete the test user", "DELETE", f"/Users/{user_id}", expects=204) is not None:
            self._send("Check that the test user is gone", "GET", f"/Users/{user_id}", expects=404)

    def _change(self, user: dict[str, object]) -> bool:
        """Rename and deactivate the test user: by PATCH, or by PUT on the mount without PATCH."""
        path = f"/Users/{self.created_id}"
        if self.mount == "prodscim":
            response = self._send(
                "Deactivate the test user by PUT", "PUT", path, {**user, "active": False}, holds=_inactive
            )
            return response is not None
        rename = _patch("displayName", "Connection Check")
        response = None
        if self._send("Rename the test user by PATCH", "PATCH", path, rename) is not None:
            response = self._send(
                "Deactivate the test user by PATCH", "PATCH", path, _patch("active", "False"), holds=_inactive
            )
        return response is not None

    def _send(
        self,
        name: str,
        method: str,
        path: str,
        body: object = None,
        *,
        expects: int = 200,
        holds: Callable[[dict[str, Any]], str] | None = None,
    ) -> dict[str, Any] | None:
        """Make a request and record how it ended; returns the body of the answer, or None when it failed."""
        response = send(self.inner, method, path, body)
        document = json.loads(response.content) if response.content else {}
        fault = ""
        if response.status_code != expects:
            why = _WHY.get(response.status_code, "The answer was not the expected one.")
            fault = f"{why} {document.get('detail', '')}".strip()
        elif holds is not None:
            fault = holds(document)
        explanation = fault or "The answer is as expected."
        self.steps.append(Step(name, f"{method} /{self.mount}{path}", response.status_code, not fault, explanation))
        return None if fault else document


def _patch(path: str, value: str) -> dict[str, object]:
    return {"schemas": [PATCH_OP], "Operations": [{"op": "Replace", "path": path, "value": value}]}


def _nobody(response: dict[str, object]) -> str:
    return "" if response.get("totalResults") == 0 else "The service found a user with a name that no user has."


def _one(response: dict[str, object]) -> str:
    return "" if response.get("totalResults") == 1 else "The service did not find the new test user by its name."


def _inactive(response: dict[str, object]) -> str:
    return "" if response.get("active") is False else "The user is still active."
