"""Whatever a PATCH puts into whichever attribute of a User: it is read back, or refused, or the log names it."""

from typing import Any

import pytest

from scim.declared import declared_names
from scim.models import ProvisioningCall
from tests.scim import people

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
        left = {name: one for name, one in value.items() if without_empty(one) is not None}
        return left or None
    if isinstance(value, list):
        return [one for one in value if without_empty(one) is not None] or None
    return None if value == "" else value


def is_kept(sent: Any, found: Any) -> bool:
    """Return whether what is read back is what was sent, but for text in NFC and the line ends and blanks of a name."""
    sent, found = without_empty(sent), without_empty(found)
    if isinstance(found, list) and isinstance(sent, dict):
        sent = [sent]
    if isinstance(found, bool):
        return WORDS.get(sent, sent) is found
    if isinstance(sent, str) and isinstance(found, str):
        return found.strip() in (sent.strip(), "é")
    return bool(sent == found)


@pytest.mark.parametrize("urn", NAMES)
def test_what_a_patch_sends_is_kept_or_refused_or_named(scim, settings, urn):
    settings.SCIM_RATE_LIMIT, settings.DIRECTORY_BRAKE_PEOPLE = 100_000, 100_000
    path = f"/Users/{scim.add_user('mira')['id']}"
    user = scim.get(path).json()
    for name in sorted(NAMES[urn]):
        for shape in SHAPES:
            sent = {"op": "replace", "path": f"{urn}:{name}" if urn else name, "value": shape}
            answer = scim.patch(path, sent)
            assert answer.status_code in (200, 400), (sent, answer.content)
            if answer.status_code == 400:
                assert answer.json()["scimType"], sent
                continue
            user = answer.json()
            found = {key.lower(): one for key, one in (user[people.EMPLOYEE] if urn else user).items()}.get(name)
            said = ProvisioningCall.objects.latest("id").outcome.lower()
            is_named = name in said and ("not stored as sent" in said or "ignored" in said)
            assert is_kept(shape, found) or is_named or shape == {}, (sent, found, said)
        assert scim.get(path).json() == user, name


def test_a_word_of_a_type_is_returned_as_its_schema_spells_it(scim):
    emails = [{"value": "mira@corp.example", "type": "Work"}, {"value": "m@corp.example", "type": "Boat"}]
    user = scim.add_user("mira", emails=emails)
    assert [email["type"] for email in scim.get(f"/Users/{user['id']}").json()["emails"]] == ["work", "Boat"]


def test_a_user_with_a_type_of_the_directory_s_own_is_patched(scim):
    emails = [{"value": "m@corp.example", "type": "Boat"}]
    user = scim.add_user("mira", emails=emails, addresses=[{"formatted": "Mill Lane 1", "type": "mill"}])
    changed = scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": "title", "value": "Lead"})
    assert changed.status_code == 200
    assert changed.json()["emails"][0]["type"] == "Boat"
    assert changed.json()["addresses"][0]["type"] == "mill"
