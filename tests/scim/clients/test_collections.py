"""The requests of Microsoft's and Okta's public collections, kept as data in `collections/`, on both mounts.

Each request has the status and the parts that its collection expects. `here` holds what this service answers instead,
and why; `prodscim` the same for that mount alone. Each of them stands in docs/conformance.md.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from records.accounts.models import Dialect
from tests.scim.conftest import MOUNTS, Scim

FOLDER = Path(__file__).with_name("collections")
CONFORMANCE = Path(__file__).resolve().parents[3] / "docs" / "conformance.md"
DIALECTS = {"entra": Dialect.ENTRA, "okta": Dialect.OKTA}
ANY = "{any}"
"""Stands for a part that must be there and not be empty."""


def collection(name: str) -> dict[str, Any]:
    requests: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return requests


def part(document: Any, path: str) -> Any:
    """Return the part of a document at `a.0.b`; a schema URN is ended by `|`. Raises LookupError."""
    schema, bar, rest = path.partition("|")
    for name in [schema, *rest.split(".")] if bar else path.split("."):
        document = document[int(name) if isinstance(document, list) else name]
    return document


class Session:
    """Sends the requests of a collection, and keeps the ids that later ones name."""

    def __init__(self, scim: Scim) -> None:
        self.scim = scim
        self.variables: dict[str, str] = {}

    def fill_in(self, value: Any) -> Any:
        """Return a value with the ids in the place of their names."""
        text = json.dumps(value)
        for name, key in self.variables.items():
            text = text.replace(f"{{{name}}}", key)
        return json.loads(text)

    def carry_out(self, request: dict[str, Any]) -> None:
        """Send a request and check its answer."""
        method, path = request["send"].split(" ", 1)
        headers = dict(request.get("headers", {}))
        kind = headers.pop("Content-Type", "application/scim+json")
        body = request.get("text") or self.fill_in(request.get("body"))
        scim = self.scim
        if method == "PATCH" and scim.mount == "/prodscim":
            answer = scim.send(method, self.fill_in(path), body, kind, **headers)
            assert (answer.status_code, "PATCH" in answer["Allow"]) == (405, False), request["name"]
            scim = Scim(scim.secret, "/scim")
        answer = scim.send(method, self.fill_in(path), body, kind, **headers)
        expectation = {**request, **request.get("here", {}), **request.get(scim.mount.removeprefix("/"), {})}
        message = f"{request['name']}: {answer.status_code} {answer.content.decode()[:1000]}"
        assert answer.status_code == expectation["status"], message
        document = answer.json() if answer.content else {}
        for place, value in self.fill_in(expectation.get("expect", {})).items():
            actual = part(document, place)
            assert actual not in (None, "", []) if value == ANY else actual == value, f"{place} in {message}"
        for place in expectation.get("absent", ()):
            with pytest.raises(LookupError):
                part(document, place)
        if "contains" in request and "here" not in request:
            assert self.fill_in(request["contains"]) in answer.content.decode(), message
        if answer.status_code < 300:
            self.variables |= {name: part(document, place) for name, place in request.get("keep", {}).items()}


@pytest.mark.parametrize("mount", MOUNTS)
@pytest.mark.parametrize("name", DIALECTS)
def test_every_request_of_the_collection_is_answered_as_it_expects(
    scim_of: Any, settings: Any, name: str, mount: str
) -> None:
    # The collections delete all that they made, which the brake on mass removal would stop.
    settings.DIRECTORY_BRAKE_PEOPLE = 1_000
    session = Session(scim_of(DIALECTS[name], mount))
    for request in collection(name)["requests"]:
        session.carry_out(request)


@pytest.mark.parametrize("name", DIALECTS)
def test_every_answer_that_differs_is_explained_in_the_documentation(name: str) -> None:
    page = CONFORMANCE.read_text(encoding="utf-8")
    differing = [one[place] for one in collection(name)["requests"] for place in ("here", "prodscim") if place in one]
    assert not [one["why"] for one in differing if one["why"] not in page]
    count = len(collection(name)["requests"])
    assert f"{count} requests" in page
