"""Erases a person's values from what is around a record: its attachments' names, saved filters, and earlier imports."""

import re
import uuid
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.db import models
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext

from records.backoffice.models import QUERY, FileImport, SavedFilter
from records.history.digests import ERASED, FieldChange, Side
from records.history.erasure import Personal, erase_from_history
from records.history.models import Change, ChangeQuerySet
from records.history.trail import Author, recording
from records.retention.actions import on_hold_since
from records.retention.marks import digest_of, mark_of
from records.retention.words import Words
from records.sites.about import about, kinds
from records.sites.models import Entity, SiteRecord
from records.sites.text import read_uuid, refuse
from records.sites.writing import stamp

ATTACHMENT_TEXT = ("name", "description", "file_name")
FILTER_TEXT = ("name", "query")
IMPORT_TEXT = ("file_name", "reason")
EXTENSION = re.compile(r"\.\w{1,5}$")


class _UserTexts(Personal):
    """The texts of an attachment or saved filter that contain one of the words, as a whole."""

    def texts(self, entry: FieldChange, side: Side) -> list[str]:
        """Return the text on one side of an entry of a change if it contains one of the words."""
        value = entry.get(side)
        hit = (
            isinstance(value, str)
            and entry["field"] in self.columns
            and self.is_personal(_text_of(entry["field"], value))
        )
        return [str(value)] if hit else []


def attachments_that_say(record: SiteRecord, words: Words, *, lock: bool = False) -> list[Any]:
    """Return the record's attachments whose name, description or file name contains one of the words; one query.

    `lock` locks all attachments of the record.
    """
    rows = kinds()[Entity.ATTACHMENT]._base_manager.filter(about(record)).order_by("pk")
    if lock:
        rows = rows.select_for_update(of=("self",), no_key=True)
    return [row for row in rows if any(words.occur_in(getattr(row, name)) for name in ATTACHMENT_TEXT)]


def erase_from_attachments(record: SiteRecord, words: Words, *, author: Author, operation: str, reason: str) -> None:
    """Erase the texts of the record's attachments that contain one of the words; the files stay as they are.

    Raises ValidationError, code InvalidTransition, if one of these attachments is on legal hold.
    """
    for row in attachments_that_say(record, words, lock=True):
        if on_hold_since(row) is not None:
            text = gettext(
                "The attachment “%(name)s” is on legal hold, so its texts must stay. A Site Administrator can lift the "
                "hold."
            )
            raise refuse(text % {"name": row})
        stamp(row, author)
        _erase(row, ATTACHMENT_TEXT, words, author=author, operation=operation, reason=reason)


def changes_of_filters(site_id: uuid.UUID) -> ChangeQuerySet:
    """Return the changes of the site's saved filters, through their own index, in any order.

    PostgreSQL plans a write's statements once for all values of their parameters, and would not use the index for a
    kind of record that is a parameter. The kind is therefore a part of the statement.
    """
    kind = RawSQL("model = 'backoffice.SavedFilter'", (), models.BooleanField())
    return Change.objects.filter(kind, site_id=site_id).order_by()


def erase_from_lists(site_id: uuid.UUID, words: Words, *, author: Author, operation: str, reason: str) -> None:
    """Erase what saved filters of the site, also removed ones, and its earlier imports say of the person.

    A filter keeps its other conditions. It takes two queries, and more for each hit.
    """
    personal = _UserTexts(FILTER_TEXT, is_personal=words.occur_in)
    filters = SavedFilter.objects.at(site_id)
    ids = {row.pk for row in filters if any(words.occur_in(_text_of(name, getattr(row, name))) for name in FILTER_TEXT)}
    for change in changes_of_filters(site_id).only("record_id", "record_name", "fields"):
        if words.occur_in(change.record_name) or any(
            personal.texts(entry, side) for entry in change.fields for side in ("old", "new")
        ):
            ids.add(change.record_id)
    present = filters.select_for_update(of=("self",), no_key=True).in_bulk(ids)
    for key in sorted(ids):
        row = present.get(key) or SavedFilter(pk=key, site_id=site_id)
        _erase(row, FILTER_TEXT, words, author=author, operation=operation, reason=reason)
    # The import itself has no history.
    for file_import in FileImport.objects.filter(site_id=site_id):
        names = [name for name in IMPORT_TEXT if words.occur_in(getattr(file_import, name))]
        if names:
            FileImport.objects.filter(pk=file_import.pk).update(
                **{name: _without(file_import, name, words) for name in names}
            )


def _erase(row: Any, names: tuple[str, ...], words: Words, *, author: Author, operation: str, reason: str) -> None:
    """Erase the texts of a row that contain one of the words, also from its history; the row may be gone."""
    entries = list[FieldChange]()
    for name in names:
        value = getattr(row, name)
        if words.occur_in(_text_of(name, value)):
            setattr(row, name, _without(row, name, words))
            entries.append({"field": name, "old": {ERASED: digest_of(value)}, "new": getattr(row, name)})
    with recording() as trail:
        if entries:
            row.save(force_update=True)
        personal = _UserTexts(names, is_personal=words.occur_in, has_name=True)
        entries += erase_from_history(row, personal, words.are_quoted_in, digest_of)
        trail.add(row, entries, author=author, operation=operation, reason=reason)


def _text_of(name: str, value: str) -> str:
    """Return the part of a column's text that people typed; of a filter's query, its values line by line."""
    if name != "query":
        return value
    return "\n".join(value_of_pair for _, value_of_pair in parse_qsl(value) if read_uuid(value_of_pair) is None)


def _without(row: models.Model, name: str, words: Words) -> str:
    """Return what replaces the text of a column that contains one of the words; a file name keeps its extension."""
    value = str(getattr(row, name))
    if name != "query":
        extension = EXTENSION.search(value) if name == "file_name" else None
        extension_text = extension[0] if extension is not None and not words.occur_in(extension[0]) else ""
        return f"{mark_of(row._meta.get_field(name), value)}{extension_text}"
    pairs = [(key, part, words.occur_in(_text_of(name, urlencode([(key, part)])))) for key, part in parse_qsl(value)]
    # The list compares the pairs in this order, as `saved_filters.filter_part` stores them.
    parts = sorted((key, f"{ERASED}-{digest_of(part)}" if is_personal else part) for key, part, is_personal in pairs)
    return urlencode(parts)[:QUERY]
