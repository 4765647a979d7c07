"""Facts of an employee that are copied to the account, so that sign-in, mails and directories see the same person."""

import unicodedata
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from records.accounts.models import User, UserAttribute, UserEmail
from records.accounts.models.attributes import START
from records.accounts.recovery import follow_fact
from records.history.trail import Author, now
from records.sites.text import fold

ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
"""The schema under which an account keeps enterprise attributes that have no column.

One example is a manager whom the employee cannot have.
"""
REMOVED_NAMES = "taken"
"""The key under which an account stores the names of attributes that a PATCH removed although it always has them.

Stored accounts have this key, so it stays `taken`.
"""
CONTACTS = ("phoneNumbers", "addresses")
"""The attributes with phones and addresses, as a directory sends them and an account keeps them."""


@dataclass(frozen=True, slots=True)
class EmployeeFacts:
    """The facts of an employee that are copied to the account."""

    given_name: str = ""
    family_name: str = ""
    title: str = ""
    email: str = ""
    phone: str = ""
    mobile: str = ""
    address: str = ""
    manager: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """One part of a stored attribute, with the key by which filters find it."""

    attribute: str
    idx: int
    part: str
    key: str


def fold_case(text: str) -> str:
    """Return the case-folded form in which stored text is compared, the same on every database."""
    lower = unicodedata.normalize("NFC", text).replace("İ", "i").lower()
    return unicodedata.normalize("NFC", lower).replace("ς", "σ")  # noqa: RUF001 (the letter is meant)


def follow_employee(user_id: uuid.UUID, before: EmployeeFacts, after: EmployeeFacts, *, author: Author) -> None:
    """Copy the changed facts of an employee to the account, in the transaction that records the employee's Change.

    Always increments the account's revision, because directories read account and employee as one. Locks the account's
    row. The recovery address follows only if the author may change it (DECISIONS 9.3).
    """
    user = User.objects.select_for_update(of=("self",), no_key=True).get(pk=user_id)
    for name in ("given_name", "family_name"):
        if getattr(after, name) != getattr(before, name):
            setattr(user, name, getattr(after, name))
    if after.title != before.title:
        user.honorific_prefix = after.title
    if after.email != before.email:
        _set_primary_email(user, before.email, after.email)
        follow_fact(user, user.email, after.email, author=author)
        user.email = after.email
    _set_contacts(user, before, after)
    user.revision = F("revision") + 1
    user.last_modified = now()
    user.save(
        update_fields=[
            "given_name",
            "family_name",
            "honorific_prefix",
            "email",
            "recovery_address",
            "pending_address",
            "directory_attributes",
            "revision",
            "last_modified",
        ]
    )


def forget_contacts(user_id: uuid.UUID) -> tuple[User, bool]:
    """Take every phone number and address from the account, in the transaction that erases them from the employee.

    Returns the account, whose row is locked, and whether there was any.
    """
    user = User.objects.select_for_update(of=("self",), no_key=True).get(pk=user_id)
    attributes = {name: value for name, value in user.directory_attributes.items() if name not in CONTACTS}
    was_known = attributes != user.directory_attributes
    if was_known:
        replace_keys(user, list(CONTACTS), ())
        user.directory_attributes, user.revision, user.last_modified = attributes, F("revision") + 1, now()
        user.save(update_fields=["directory_attributes", "revision", "last_modified"])
    return user, was_known


def _set_primary_email(user: User, before: str, value: str) -> None:
    """Make `value` the primary address, in the row that had the address before; the other addresses stay."""
    rows = list(UserEmail.objects.filter(user=user).order_by("-primary", "idx", "pk"))
    row = next((row for row in rows if row.primary or row.value == before), None)
    if not value:
        if row is not None:
            row.delete()
            UserEmail.objects.filter(user=user, idx__gt=row.idx).update(idx=F("idx") - 1)
        return
    if row is None:
        row = UserEmail(user=user, type="work", idx=len(rows))
    row.value, row.value_key, row.primary = value, fold(value), True
    # Some directories repeat the address as its display name.
    row.display = "" if fold(row.display) == fold(before) else row.display
    row.save()


def _set_contacts(user: User, before: EmployeeFacts, after: EmployeeFacts) -> None:
    attributes = {name: value for name, value in user.directory_attributes.items() if name != REMOVED_NAMES}
    numbers = [dict(entry) for entry in attributes.get("phoneNumbers", [])]
    _set_value(numbers, phone_entries(numbers), before.phone, after.phone, {"value": after.phone, "type": "work"})
    _set_value(numbers, mobile_entries(numbers), before.mobile, after.mobile, {"value": after.mobile, "type": "mobile"})
    addresses = [dict(entry) for entry in attributes.get("addresses", [])]
    new_address = {"formatted": after.address, "type": "work"}
    _set_value(addresses, address_entries(addresses), before.address, after.address, new_address)
    enterprise = {name: value for name, value in attributes.get(ENTERPRISE, {}).items() if name != "manager"}
    if after.manager != before.manager and enterprise != attributes.get(ENTERPRISE, {}):
        attributes = {name: value for name, value in attributes.items() if name != ENTERPRISE}
        if enterprise:
            attributes[ENTERPRISE] = enterprise
        replace_keys(user, [f"{ENTERPRISE}:manager"], ())
    for name, entries in (("phoneNumbers", numbers), ("addresses", addresses)):
        if entries != attributes.get(name, []):
            attributes.pop(name, None)
            if entries:
                attributes[name] = entries
            replace_keys(user, [name], keys_of(name, entries))
    user.directory_attributes = attributes


def _set_value(
    entries: list[dict[str, Any]], candidates: list[dict[str, Any]], before: str, after: str, new_entry: dict[str, str]
) -> None:
    """Write a changed fact into the entry that has held it; if none has, add `new_entry`, and the others stay.

    `candidates` are the entries that can hold the fact, in the order in which they are looked at.
    """
    if after == before:
        return
    holder = next(
        (
            entry
            for entry in candidates
            if before and _lines(before) in (_lines(text_of(entry)), _lines(lines_of_parts(entry)))
        ),
        None,
    )
    if holder is None:
        if after:
            entries.insert(entries.index(candidates[0]) if candidates else len(entries), dict(new_entry))
    elif not after:
        entries.remove(holder)
    else:
        display_part = ["display"] if _lines(str(holder.get("display", ""))) == _lines(before) else []
        for part in (*_ADDRESS_PARTS, "formatted", *display_part):
            holder.pop(part, None)
        holder |= {**new_entry, "type": holder.get("type", new_entry["type"])}


def _lines(text: str) -> list[str]:
    return fold_case(text).splitlines()


_ADDRESS_PARTS = ("streetAddress", "postalCode", "locality", "region", "country")


def phone_entries(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries that can be the telephone number, those of type work first; no mobile, fax or pager."""
    phones = [entry for entry in entries if entry.get("value") and _kind(entry) not in ("mobile", "fax", "pager")]
    return sorted(phones, key=lambda entry: _kind(entry) != "work")


def mobile_entries(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of mobile numbers."""
    return [entry for entry in entries if entry.get("value") and _kind(entry) == "mobile"]


def address_entries(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the addresses: the primary one, then those of type work, then the others."""
    return sorted(entries, key=lambda entry: (not entry.get("primary"), _kind(entry) != "work"))


def text_of(entry: dict[str, Any]) -> str:
    """Return a number, or an address as lines of text: as it was written as a whole, or else its parts."""
    return str(entry.get("value") or entry.get("formatted") or "") or lines_of_parts(entry)


def lines_of_parts(entry: dict[str, Any]) -> str:
    """Return the parts of an address as lines of text; '' if it has none."""
    town = " ".join(str(entry[part]) for part in ("postalCode", "locality") if entry.get(part))
    lines = (entry.get("streetAddress"), town, entry.get("region"), entry.get("country"))
    return "\n".join(str(line) for line in lines if line)


def _kind(entry: dict[str, object]) -> str:
    return str(entry.get("type", "")).lower()


def keys_of(
    attribute: str, value: object, comparable: Callable[[str, object], str] = lambda path, part: fold_case(str(part))
) -> Iterator[Key]:
    """Yield one key for each part of a stored attribute's value, which is a text, an object, or a list of either.

    `comparable` returns the form in which the part at a path, such as `addresses.country`, is compared.
    """
    for idx, entry in enumerate(value if isinstance(value, list) else [value]):
        parts = entry.items() if isinstance(entry, dict) else (("", entry),)
        for part, inner in parts:
            if inner not in (None, ""):
                path = f"{attribute}.{part}" if part else attribute
                key = ("true" if inner else "false") if isinstance(inner, bool) else comparable(path, inner)
                yield Key(attribute.lower(), idx, part.lower(), key)


def replace_keys(user: User, attributes: list[str] | None, keys: Iterable[Key]) -> None:
    """Make these the account's keys, either of the named attributes or of all."""
    rows = UserAttribute.objects.filter(user=user)
    if attributes is not None:
        rows = rows.filter(attribute__in=[name.lower() for name in attributes])
    rows.delete()
    add_keys(user, keys)


def add_keys(user: User, keys: Iterable[Key]) -> None:
    """Add keys for attributes of which the account has none."""
    UserAttribute.objects.bulk_create(
        [
            UserAttribute(
                user=user, attribute=key.attribute, idx=key.idx, part=key.part, key=key.key, start=key.key[:START]
            )
            for key in keys
        ]
    )
