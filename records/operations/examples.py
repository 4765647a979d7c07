"""Worked examples of operations: shown in the OpenAPI document, and executed by a test just as they are shown.

A room's examples stand in its `examples.py` and are named in its rows. The test works through a room's rows from top
to bottom at an empty site, so a read shows what the rows above it have written. Ids are samples: `sample("Product",
"Rye bread")` stands for a product of that name wherever it is used, and the test puts the real id in its place. A
sample that an example adds (it is the Id of its answer) need not be there before; the test makes the others.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from records.reference import seed

NAMESPACE = uuid.UUID("6f0a6b0e-8c39-4c0e-9d0b-5a1f5f0c7f11")
MOMENT = "2026-03-02T09:15:00.000Z"
"""What the document shows as the stamps of a record; the test asks for a stamp of that form only."""

samples: dict[str, tuple[str, str, Mapping[str, Any]]] = {}
"""Every sample by its id: kind, name and what else it is made with."""


@dataclass(frozen=True, slots=True)
class Example:
    """One worked call: what is sent, and the whole answer.

    `differs` names fields of the answer that are different on every call (stamps are known to be), so that only their
    form is compared.
    """

    answer: Any
    body: Any = None
    id: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    status: int = 200
    differs: Sequence[str] = ()


def sample(kind: str, name: str, **made_with: Any) -> str:
    """Return the id that stands for a record of the kind (a model's name) with that name in all examples."""
    key = str(uuid.uuid5(NAMESPACE, f"{kind}:{name}"))
    known = samples.setdefault(key, (kind, name, made_with))
    if made_with and known[2] != made_with:
        samples[key] = (kind, name, {**known[2], **made_with})
    return key


def entry(list_name: str, code: str) -> str:
    """Return the real id of an entry of a list that all sites share, such as `entry("Title", "MS")`."""
    return next(str(key) for key, known, _ in seed.system_entries()[list_name] if known == code)


def done(key: str) -> dict[str, str]:
    """Return the success body of an add or update."""
    return {"Error": "", "Message": "Success.", "Id": key}


CALLER, CALLER_NAME = sample("User", "the caller"), "Robin Castle"
STAMPS = {"Created": MOMENT, "CreatedBy": CALLER, "LastModified": MOMENT, "LastModifiedBy": CALLER}
