"""Whatever a PATCH puts into whichever attribute of a User: it is read back, or refused, or the log names it."""

from typing import Any

import pytest

from scim.declared import declared_names
from tests.scim import people
from tests.scim.conftest import last_outcome

SHAPES: tuple[Any, ...] = (
    None,
    " e\u0301\r\n",
    "x" * 256,
    "yes",
    0,
    1.5,
    [],
    [[]],
    {},
    {"value": "a"},
    {"value": {}},
    [{"value": "a", "primary": True}, {"value": "b", "primary": True}],
    [{"type": "work"}],
)
NAMES = {urn: names for urn, names in declared_names("User").items() if urn in ("", people.EMPLOYEE.lower())}
WORDS = {"yes": True, 0: False}
"""What is read as a boolean besides true and false, of the values above."""


def without_empty(value: Any) -> Any:
    """Return a value without what is unassigned (RFC 7643, 2.5); None if nothing is left."""
    if isinstance(value, dict):
        rest = {name: one for name, one in value.items() if without_empty(one) is not None}
        return rest or None
    if isinstance(value, list):
        return [one for one in value if without_empty(one) is not None] or None
    return None if value == "" else value


def is_kept(sent: Any, stored: Any) -> bool:
    """Return whether what is read back is what was sent, but for text in NFC and the line ends and blanks of a name."""
    sent, stored = without_empty(sent), without_empty(stored)
    if isinstance(stored, list) and isinstance(sent, dict):
        sent = [sent]
    if isinstance(stored, bool):
        return WORDS.get(sent, sent) is stored
    if isinstance(sent, str) and isinstance(stored, str):
        return stored.strip() in (sent.strip(), "é")
    return bool(sent == stored)


@pytest.mark.parametrize("urn", NAMES)
def test_what_a_patch_sends_is_kept_or_refused_or_named(scim, settings, urn):
    settings.SCIM_RATE_LIMIT, settings.DIRECTORY_BRAKE_PEOPLE = 100_000, 100_000
    path = f"/Users/{scim.add_user('mira')['id']}"
    user = scim.get(path).json()
    for name in sorted(NAMES[urn]):
        for shape in SHAPES:
            operation = {"op": "replace", "path": f"{urn}:{name}" if urn else name, "value": shape}
            answer = scim.patch(path, operation)
            assert answer.status_code in (200, 400), (operation, answer.content)
            if answer.status_code == 400:
                assert answer.json()["scimType"], operation
                continue
            user = answer.json()
            stored = {key.lower(): one for key, one in (user[people.EMPLOYEE] if urn else user).items()}.get(name)
            outcome = last_outcome().lower()
            is_named = name in outcome and ("not stored as sent" in outcome or "ignored" in outcome)
            assert is_kept(shape, stored) or is_named or shape == {}, (operation, stored, outcome)
        assert scim.get(path).json() == user, name


def test_a_word_of_a_type_is_returned_as_its_schema_spells_it(scim):
    emails = [{"value": "mira@corp.example", "type": "Work"}, {"value": "m@corp.example", "type": "Boat"}]
    user = scim.add_user("mira", emails=emails)
    assert [email["type"] for email in scim.get(f"/Users/{user['id']}").json()["emails"]] == ["work", "Boat"]


def test_a_user_with_a_type_of_the_directory_s_own_is_patched(scim):
    emails = [{"value": "m@corp.example", "type": "Boat"}]
    user = scim.add_user("mira", emails=emails, addresses=[{"formatted": "Mill Lane 1", "type": "mill"}])
    answer = scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": "title", "value": "Lead"})
    assert answer.status_code == 200
    assert answer.json()["emails"][0]["type"] == "Boat"
    assert answer.json()["addresses"][0]["type"] == "mill"
