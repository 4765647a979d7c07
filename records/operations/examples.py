"""Worked examples of operations: shown in the OpenAPI document, and run by a test exactly as they are shown.

A room's examples are in its `examples.py`, and its rows refer to them. The test runs a room's rows from top to bottom
at an empty site, so a read shows what the rows above it have written. Ids are samples: `sample("Product", "Rye bread")`
stands for a product of that name wherever it is used, and the test replaces it by the real id. A sample that an example
adds (it is the Id of the response) need not exist before; the test creates the others.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from records.reference import seed

NAMESPACE = uuid.UUID("6f0a6b0e-8c39-4c0e-9d0b-5a1f5f0c7f11")
MOMENT = "2026-03-02T09:15:00.000Z"
"""The stamps of a record as the document shows them; the test only checks that a stamp has this form."""

samples: dict[str, tuple[str, str, Mapping[str, object]]] = {}
"""Every sample by its id: kind, name and further values that it is created with."""


@dataclass(frozen=True, slots=True)
class Example:
    """One worked call: the request and the complete response.

    `differs` lists fields of the response that differ on every call (stamps always do), so that only their form is
    compared.
    """

    answer: Any
    body: object = None
    id: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    status: int = 200
    differs: Sequence[str] = ()


def sample(kind: str, name: str, **made_with: object) -> str:
    """Return the id that represents a record of the kind (a model's name) with that name in all examples."""
    key = str(uuid.uuid5(NAMESPACE, f"{kind}:{name}"))
    existing = samples.setdefault(key, (kind, name, made_with))
    if made_with and existing[2] != made_with:
        samples[key] = (kind, name, {**existing[2], **made_with})
    return key


def entry(list_name: str, code: str) -> str:
    """Return the real id of an entry of a list that all sites share, such as `entry("Title", "MS")`."""
    return next(str(key) for key, entry_code, _ in seed.system_entries()[list_name] if entry_code == code)


def done(key: str) -> dict[str, str]:
    """Return the success body of an add or update."""
    return {"Error": "", "Message": "Success.", "Id": key}


CALLER, CALLER_NAME = sample("User", "the caller"), "Robin Castle"
STAMPS = {"Created": MOMENT, "CreatedBy": CALLER, "LastModified": MOMENT, "LastModifiedBy": CALLER}
