"""The history of a period in a pack: each change in words and as its digest covers it, and the seal over the last.

A value that the person who asked for the pack may not see is replaced by its salted digest, like an erased value, and
so is every value of a change that the Changes page does not show that person. The chain can therefore still be checked
from its first change in the pack to the last (see `check_pack.py`, which is part of every pack).
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.exceptions import NotRegistered
from django.db.models import Max, Min
from django.utils.text import capfirst

from records.accounts.models import User
from records.backoffice.about import name_pointers
from records.backoffice.datetimes import format_datetime
from records.backoffice.history_pages import lines_of, visible_changes
from records.backoffice.transfer.formulas import guard
from records.backoffice.transfer.sheets import Line
from records.history.digests import VERSION, canonical, facts, value_digest, values_of
from records.history.models import Change
from records.packs.kinds import Span
from records.packs.tables import May, cut
from records.sites.hidden import revealing_fields

STEP = 1_000
NOT_SHOWN = "not shown to you"
HEADER = ("Number", "When", "Who", "Through", "Operation", "Kind", "Record", "Reason", "What changed")


@dataclass(frozen=True, slots=True)
class Stretch:
    """The changes of a chain from one number to another, both included; `hash` is that of the last one."""

    chain: uuid.UUID
    first: int
    last: int
    hash: str

    def steps(self) -> Iterator[list[Change]]:
        """Yield the changes in the order of the chain, a thousand at a time."""
        for start in range(self.first, self.last + 1, STEP):
            end = min(start + STEP - 1, self.last)
            yield list(Change.objects.filter(chain=self.chain, number__range=(start, end)).order_by("number"))


def stretch_of(site_id: uuid.UUID, span: Span) -> Stretch | None:
    """Return the site's changes of the period, or None if there are none.

    The chain has no gaps: a change between two changes of the period is included even if its time is outside of it.
    """
    changes = Change.objects.filter(site_id=site_id, chain=site_id, at__gte=span.begins, at__lt=span.ends)
    ends = changes.order_by().aggregate(first=Min("number"), last=Max("number"))
    if ends["last"] is None:
        return None
    last = Change.objects.get(chain=site_id, number=ends["last"])
    return Stretch(site_id, ends["first"], ends["last"], last.hash)


class Wording:
    """Decides, by a person's permissions, which parts of each change are shown."""

    def __init__(self, user: User, may: May) -> None:
        self.user = user
        self.page_of = cache(_page_of)
        self.may = cache(may)

    def hidden_fields(self, change: Change) -> frozenset[str]:
        """Return the fields whose values are not shown."""
        page = self.page_of(change.model)
        private = getattr(page, "private_fields", ())
        names = frozenset() if not private or self.may(page.private_permission) else frozenset(private)
        return names if page is None else names | revealing_fields(page.model, self.may)

    def visible_keys(self, step: list[Change]) -> set[uuid.UUID]:
        """Return the keys of those changes of one site that the person may see; one query."""
        rows = Change.objects.filter(pk__in=[change.pk for change in step])
        sites = {change.site_id for change in step if change.site_id is not None}
        return set(visible_changes(self.user, rows, sites).values_list("pk", flat=True))

    def lines(self, steps: Iterator[list[Change]]) -> Iterator[Line]:
        """Yield the header and a line for each change."""
        yield HEADER
        for step in steps:
            visible = self.visible_keys(step)
            name_pointers(self.user, [change for change in step if change.pk in visible])
            for change in step:
                yield self._line(change, is_visible=change.pk in visible)

    def _line(self, change: Change, *, is_visible: bool) -> Line:
        page = self.page_of(change.model)
        model: Any = page.model if page is not None else Change
        days: Callable[[str], bool] = getattr(page, "is_day", lambda name: False)
        lines = lines_of(model, change.fields, list(self.hidden_fields(change)), days)
        values_text = "\n".join(f"{line['label']}: {line['old']} → {line['new']}" for line in lines)
        kind = capfirst(str(model._meta.verbose_name)) if page is not None else change.model
        details = (change.record_name, change.reason, values_text) if is_visible else (NOT_SHOWN, "", "")
        texts = (change.author_name, change.channel, change.operation, kind, *details)
        return [change.number, format_datetime(change.at), *(cut(guard(str(text))) for text in texts)]

    def rows(self, steps: Iterator[list[Change]]) -> Iterator[bytes]:
        """Yield a JSON line for each change: everything that its hash covers; digests replace hidden values."""
        for step in steps:
            visible = self.visible_keys(step)
            rows = (self._row(change, is_visible=change.pk in visible) for change in step)
            yield b"".join(orjson.dumps(row) + b"\n" for row in rows)

    def _row(self, change: Change, *, is_visible: bool) -> dict[str, object]:
        row = {
            "number": change.number,
            "version": change.digest_version,
            "previous": change.previous_hash,
            "hash": change.hash,
        }
        if change.digest_version != VERSION:
            return row
        hidden_fields = self.hidden_fields(change)
        names = ["", "", *(entry["field"].partition(".")[0] for entry in change.fields for _ in ("old", "new"))]
        row["facts"] = facts(change).decode()
        row["values"] = [
            _digest_input(salt, value, is_hidden=not is_visible or name in hidden_fields)
            for salt, value, name in zip(change.salts, values_of(change), names, strict=True)
        ]
        return row


def _digest_input(salt: str, value: object, *, is_hidden: bool) -> str | dict[str, str] | None:
    """Return what a value's digest is computed from: salt and text, the digest alone, or None for an empty value."""
    digest = value_digest(salt, value)
    if not digest:
        return None
    return digest if is_hidden or salt.startswith("=") else {"salt": salt, "text": canonical(value).decode()}


def _page_of(label: str) -> Any:
    try:
        return admin.site.get_model_admin(apps.get_model(label))
    except (LookupError, NotRegistered):
        return None
