"""Erasing values from the history: the one exception to "a Change is never edited" (DECISIONS 13.4).

A value is removed together with its salt, but its digest stays, so that the hash of its change stays the same. The
Change of the erasure names every change that lost values, with its new digest; `records.history.verification` accepts
no other erased value.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.db import models

from records.history.digests import ERASED, ERASED_FROM, SIDES, FieldChange, Side, digest, is_erased, value_digest
from records.history.models import Change

PLACES = {"record_name": 0, "reason": 1}
FIELDS_PLACE = 2
"""The positions of the salts of the printed name, the reason and the first field in `Change.salts`."""


@dataclass(frozen=True, slots=True)
class Personal:
    """The personal values of a record, which identify somebody: some of its columns, or columns of its child rows.

    With `relation`, they are those of the child row with the Id `row`, or of every row of the relation without `row`. A
    free text is personal as a whole if `is_personal` finds a personal value in it.
    """

    columns: Collection[str]
    relation: str = ""
    row: str = ""
    free_texts: Collection[str] = ()
    is_personal: Callable[[str], bool] = bool
    has_name: bool = False
    """Whether the record's printed name in the history is such a free text too."""

    def texts(self, entry: FieldChange, side: Side) -> list[str]:
        """Return the personal texts on one side of an entry of a change; an empty list if nothing is left to erase."""
        value = entry.get(side)
        name = entry["field"]
        if name in self.free_texts:
            return [value] if isinstance(value, str) and self.is_personal(value) else []
        if self.relation:
            relation, _, name = name.partition(".")
            if relation != self.relation or (self.row and entry.get("row") != self.row):
                return []
        if name in self.columns:
            values = [value["name"] or value["id"] if isinstance(value, dict) and "id" in value else value]
        elif self.relation and not name and isinstance(value, dict):
            values = [value.get(column) for column in self.columns]
        else:
            return []
        return [str(text) for text in values if text not in (None, "") and not is_erased(text) and not is_mark(text)]


def erase_from_history(
    record: models.Model, personal: Personal, quotes: Callable[[str], bool], key: Callable[[str], str]
) -> list[FieldChange]:
    """Replace the personal values in all changes of a record, and return the entries for the erasure's Change.

    `key` returns the keyed digest (16 hexadecimal digits) that replaces a value. A reason that quotes one of them is
    replaced as a whole. Call this inside `recording` and add the entries to the record's Change; without them the
    verification of the history fails.
    """
    entries: list[FieldChange] = []
    changes = Change.objects.filter(record_id=record.pk, model=record._meta.label).order_by("number")
    for change in changes.select_for_update(of=("self",), no_key=True):
        places = [(at, side) for at, entry in enumerate(change.fields) for side in SIDES if personal.texts(entry, side)]
        for at, side in places:
            _erase_value(change, at, side, key)
        flags = {
            "reason": quotes(change.reason),
            "record_name": personal.has_name and personal.is_personal(change.record_name),
        }
        texts = [name for name, is_personal in flags.items() if is_personal and not is_erased(getattr(change, name))]
        for name in texts:
            _drop_salt(change, PLACES[name], getattr(change, name))
            setattr(change, name, f"[{ERASED} {key(getattr(change, name))}]")
        if not places and not texts:
            continue
        # The queryset of changes refuses every update, so this update bypasses it.
        models.QuerySet(Change).filter(pk=change.pk).update(
            fields=change.fields, salts=change.salts, reason=change.reason, record_name=change.record_name
        )
        entries.append({"field": ERASED_FROM, "row": str(change.number), "old": change.hash, "new": digest(change)})
    return entries


def is_mark(value: object) -> bool:
    """Return whether this is the text by which an erasure replaced the value of a record's column."""
    return isinstance(value, str) and value.startswith(f"{ERASED}-")


def _erase_value(change: Change, at: int, side: Side, key: Callable[[str], str]) -> None:
    entry = change.fields[at]
    _drop_salt(change, FIELDS_PLACE + 2 * at + (side == "new"), entry[side])
    entry[side] = {ERASED: key(str(entry[side]))}


def _drop_salt(change: Change, place: int, value: object) -> None:
    if change.salts:
        change.salts[place] = f"={value_digest(change.salts[place], value)}"
