"""Turns a User document into the desired state of the account and employee."""

import base64
import binascii
import uuid
from collections.abc import Iterator

from scim2_models import InvalidValueException

from records.accounts.employee_facts import (
    REMOVED_NAMES,
    Key,
    address_entries,
    keys_of,
    lines_of_parts,
    mobile_entries,
    phone_entries,
    text_of,
)
from records.accounts.models import User
from records.accounts.models.users import printed_name
from records.accounts.provisioning import DesiredAccount, DesiredEmail
from records.employees.provisioning import DesiredPerson, superior_fault
from records.sites.text import fold, normalise, read_uuid
from scim.callers import Caller
from scim.representations import STATE, Representation, formatted_name
from scim.requests import parts_of
from scim.schemas import EMPLOYEE, ENTERPRISE, comparable
from scim.wording import id_in

MOST_ENTRIES = 100
LONGEST_TEXT = 20_000

_COLUMNS = {
    "schemas",
    "id",
    "externalId",
    "meta",
    "userName",
    "displayName",
    "profileUrl",
    "userType",
    "preferredLanguage",
    "locale",
    "active",
    "password",
    "emails",
    "groups",
    "name",
    EMPLOYEE,
    ENTERPRISE,
    REMOVED_NAMES,
}
"""Attributes that have a column or table of their own, or are not stored. All others are kept as they were sent."""


def desired_person(
    caller: Caller, after: Representation, before: Representation | None, *, is_complete: bool
) -> DesiredPerson:
    """Return the desired state that a User document describes.

    The document of a POST and the result of a PATCH are the whole state (`is_complete`): what they omit becomes
    unassigned. A PUT that omits an extension keeps the values of the extension. If `active` is absent, the state stays
    as it is.
    """
    _refuse_excess(after)
    account = _account(after, before)
    desired = DesiredPerson(account)
    _employment(desired, after, before, is_complete=is_complete)
    attributes = _other_attributes(after, before, account, is_complete=is_complete)
    _enterprise(caller, desired, after, before, attributes, is_complete=is_complete)
    _contacts(caller, desired, after, before)
    removed_names = sorted(_removed_names(after, before, is_complete=is_complete))
    if removed_names:
        attributes[REMOVED_NAMES] = removed_names
    account.attributes = attributes
    account.keys = tuple(_keys(attributes))
    return desired


def _removed_names(after: Representation, before: Representation | None, *, is_complete: bool) -> Iterator[str]:
    """Yield the attributes that a PATCH removed although every record has a value for them.

    They are stored under `REMOVED_NAMES`, and a mount that answers in the shape of RFC 7643 omits them from then on.
    """
    if before is None or not is_complete:
        return
    removed_before = before.get(REMOVED_NAMES, ())
    for name in ("displayName", "name", "active"):
        if name not in after and (name in before or name in removed_before):
            yield name
    new, old = after.get(EMPLOYEE, {}), before.get(EMPLOYEE, {})
    for name in ("position", "natureOfEmployment"):
        if name not in new and (name in old or f"{EMPLOYEE}:{name}" in removed_before):
            yield f"{EMPLOYEE}:{name}"


def _account(after: Representation, before: Representation | None) -> DesiredAccount:
    user_name = after.get("userName") or ""
    if not user_name.strip():
        raise InvalidValueException(detail="userName must not be blank.")
    name = after.get("name", {})
    given_name, family_name = name.get("givenName", ""), name.get("familyName", "")
    given_name = (
        given_name
        if given_name.strip()
        else _given_name(after.get("displayName", "").strip(), family_name) or user_name
    )
    desired = DesiredAccount(
        user_name=user_name,
        given_name=given_name,
        family_name=family_name,
        honorific_prefix=name.get("honorificPrefix", ""),
        user_type=after.get("userType", ""),
        preferred_language=after.get("preferredLanguage", ""),
        locale=after.get("locale", ""),
        active=bool(after.get("active", before[STATE] if before else True)),
        external_id=normalise(after.get("externalId", "")),
        password=after.get("password") or None,
        emails=_emails(after.get("emails", [])),
    )
    desired.display_name = _own_display_name(desired, after, before)
    return desired


def _given_name(display_name: str, family_name: str) -> str:
    """Return the part of a display name before the family name, or all of it when the family name does not end it."""
    before = display_name.removesuffix(family_name.strip()) if family_name.strip() else display_name
    return before.strip() if before != display_name and before[-1:].isspace() else display_name


def _own_display_name(desired: DesiredAccount, after: Representation, before: Representation | None) -> str:
    """Return the display name to store; '' if it is the one that the other names make, now or before the change."""
    display_name = after.get("displayName", "")
    if display_name == printed_name("", desired.given_name, desired.family_name, desired.user_name):
        return ""
    if before and display_name == before.get("displayName"):
        name = before.get("name", {})
        if display_name == printed_name("", name.get("givenName", ""), name.get("familyName", ""), before["userName"]):
            return ""
    return str(display_name)


def _emails(entries: list[Representation]) -> list[DesiredEmail]:
    """Return the addresses, each once for each type (RFC 7643, 2.4): a directory may add one that is there already.

    If none is marked primary, the first unmarked entry of type work becomes primary, or else the first unmarked entry.
    """
    by_key: dict[tuple[str, str], Representation] = {}
    for entry in entries:
        if entry.get("value"):
            key = (fold(entry["value"]), entry.get("type") or "")
            sent = {name: part for name, part in entry.items() if part is not None}
            by_key[key] = {**by_key.get(key, {}), **sent}
    addresses = list(by_key.values())
    primary = next((entry for entry in addresses if entry.get("primary")), None)
    candidates = [entry for entry in addresses if entry.get("primary") is None]
    primary = primary or next((entry for entry in candidates if entry.get("type") == "work"), None)
    primary = primary or (candidates[0] if candidates else None)
    return [
        DesiredEmail(entry["value"], entry.get("type", ""), entry.get("display", ""), entry is primary)
        for entry in addresses
    ]


def _employment(
    desired: DesiredPerson, after: Representation, before: Representation | None, *, is_complete: bool
) -> None:
    extension = after.get(EMPLOYEE)
    if before is None:
        desired.position = (extension or {}).get("position") or None
        desired.default_position = after.get("userType") or desired.default_position
        desired.nature_of_employment = (extension or {}).get("natureOfEmployment") or None
        desired.folder = (extension or {}).get("folder") or None
    elif extension is not None or is_complete:
        new = extension or {}
        old = before.get(EMPLOYEE, {})
        desired.position = _new_value(new, old, "position") or None
        desired.nature_of_employment = _new_value(new, old, "natureOfEmployment") or None
        desired.folder = _new_value(new, old, "folder")


def _new_value(new: Representation, old: Representation, name: str) -> str | None:
    """Return the new value ('' for an empty one), or None when it did not change."""
    value = new.get(name, "")
    return None if value == old.get(name, "") else str(value)


def _other_attributes(
    after: Representation, before: Representation | None, account: DesiredAccount, *, is_complete: bool
) -> Representation:
    """Return the values that no column holds, as they were sent."""
    attributes = {name: value for name, value in after.items() if name not in _COLUMNS}
    name = {part: after.get("name", {}).get(part) for part in ("middleName", "honorificSuffix", "formatted")}
    if name["formatted"] and _is_default_format(name["formatted"], account, before):
        name["formatted"] = None
    name = {part: value for part, value in name.items() if value}
    if name:
        attributes["name"] = name
    return attributes


def _is_default_format(formatted: str, account: DesiredAccount, before: Representation | None) -> bool:
    """Return whether a formatted name is built from the present parts, or left over from before the parts changed."""
    parts = (account.honorific_prefix, account.given_name, account.family_name)
    if formatted == formatted_name(*parts):
        return True
    if not before:
        return False
    old_name = before.get("name", {})
    parts_changed = parts != (
        old_name.get("honorificPrefix", ""),
        old_name.get("givenName", ""),
        old_name.get("familyName", ""),
    )
    return bool(parts_changed and formatted == old_name.get("formatted"))


def _enterprise(
    caller: Caller,
    desired: DesiredPerson,
    after: Representation,
    before: Representation | None,
    attributes: Representation,
    *,
    is_complete: bool,
) -> None:
    old = (before or {}).get(ENTERPRISE, {})
    if ENTERPRISE not in after and before is not None and not is_complete:
        desired.keeps_manager = True
        other_attributes = {name: value for name, value in old.items() if name not in ("employeeNumber", "manager")}
        manager = old.get("manager", {})
        if manager and "$ref" not in manager:
            other_attributes["manager"] = manager
        if other_attributes:
            attributes[ENTERPRISE] = other_attributes
        return
    new = after.get(ENTERPRISE, {})
    if before is None:
        desired.code = new.get("employeeNumber") or None
    else:
        desired.code = _new_value(new, old, "employeeNumber")
    other_attributes = {name: value for name, value in new.items() if name not in ("employeeNumber", "manager")}
    value, old_manager = _manager(new, old, is_complete=is_complete), _manager(old)
    is_stored = "$ref" in old.get("manager", {})  # Others, who are only sent back, have no address.
    if value == old_manager and (is_stored or not value):
        desired.keeps_manager = True
    elif value:
        desired.manager, fault = _reporting_line(caller, value, before)
        if fault:
            # The stored manager stays. The value that was sent is only sent back: a directory may add them later.
            desired.keeps_manager = True
            other_attributes["manager"] = {"value": value}
            if value != old_manager:
                stays = ", and the present manager stays" if before else ""
                caller.notes.append(f"The manager was not set{stays}: {fault}")
    if other_attributes:
        attributes[ENTERPRISE] = other_attributes


def _reporting_line(caller: Caller, value: str, before: Representation | None) -> tuple[uuid.UUID | None, str]:
    """Return the manager's account id, or None and the reason why this value cannot be the manager."""
    key = read_uuid(value)
    if key is None or not User.objects.seen_by(caller).filter(pk=key).exists():
        return None, "The directory does not see a user with this id."
    fault = superior_fault(uuid.UUID(before["id"]) if before else None, key, caller.directory.home_site_id)
    return (None, fault) if fault else (key, "")


def _manager(enterprise: Representation, old: Representation | None = None, *, is_complete: bool = False) -> str:
    """Return the manager's id: the value, or the last part of `$ref` where only the reference was sent or changed.

    The result of a PATCH (`is_complete`) still has the former reference: a PATCH without a value has removed it.
    """
    manager, old_manager = enterprise.get("manager") or {}, (old or {}).get("manager") or {}
    value, reference = manager.get("value"), manager.get("$ref")
    reference_changed = reference != old_manager.get("$ref") and value in (None, old_manager.get("value"))
    if reference and (reference_changed or (value is None and not is_complete)):
        return id_in(reference)
    return str(value or "")


def _contacts(caller: Caller, desired: DesiredPerson, after: Representation, before: Representation | None) -> None:
    """Set the employee's phone, mobile and address when the entries that hold them changed.

    An address that was written as a whole, by staff or the directory, goes before its parts. Parts that the directory
    changes later are newer: they replace it if they are a whole address themselves, which has a street.
    """
    for name, attribute, entries in _CONTACTS:
        new, old = _first(entries(after.get(attribute, []))), _first(entries((before or {}).get(attribute, [])))
        value = text_of(new)
        if before is None:
            setattr(desired, name, value or None)
        elif value != text_of(old):
            setattr(desired, name, value)
        elif (parts := lines_of_parts(new)) != lines_of_parts(old):
            if parts and not new.get("streetAddress"):
                caller.notes.append(
                    "The address of the employee stays, because the parts that were sent have no street."
                )
            else:
                setattr(desired, name, parts or value)


_CONTACTS = (
    ("phone", "phoneNumbers", phone_entries),
    ("mobile", "phoneNumbers", mobile_entries),
    ("address", "addresses", address_entries),
)


def _first(entries: list[Representation]) -> Representation:
    return entries[0] if entries else {}


def _refuse_excess(document: Representation) -> None:
    for part in parts_of(document):
        if isinstance(part, list) and len(part) > MOST_ENTRIES:
            raise InvalidValueException(detail=f"An attribute can have at most {MOST_ENTRIES} values.")
        if isinstance(part, str) and len(part) > LONGEST_TEXT:
            raise InvalidValueException(detail=f"A value is longer than {LONGEST_TEXT} characters.")


def _keys(attributes: Representation) -> Iterator[Key]:
    """Yield one key for each stored attribute, under the name by which filters find it."""
    for name, value in attributes.items():
        if name == REMOVED_NAMES:
            continue
        if name == ENTERPRISE:
            for part, inner in value.items():
                yield from keys_of(f"{ENTERPRISE}:{part}", inner, _comparable)
        else:
            yield from keys_of(name, value, _comparable)


def _comparable(path: str, value: object) -> str:
    if path == "x509Certificates.value":
        try:
            return base64.b64decode(str(value)).hex()
        except (ValueError, binascii.Error):
            return str(value)
    return comparable("User", path, str(value))
