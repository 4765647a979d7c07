"""Erasing a person's identity from a record and its history at their request: what every kind of erasure shares.

Each value is replaced by a keyed digest, so that equal values can still be recognised as equal. A legal hold refuses
every erasure. A period of retention does not, because the record itself stays.
"""

import datetime
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import models
from django.utils.translation import gettext

from records.history.digests import ERASED, SIDES, FieldChange
from records.history.erasure import Personal, erase_from_history, is_mark
from records.history.models import Change
from records.history.trail import Author, recording
from records.retention.actions import refuse_on_hold
from records.retention.around import erase_from_attachments, erase_from_lists
from records.retention.marks import digest_of, mark_of
from records.retention.words import Words
from records.sites.models import SiteRecord
from records.sites.reasons import required_reason
from records.sites.text import FreeTextField, fault_at, one_line, refuse
from records.sites.writing import Precondition, RecordNotFoundError, stamp

ERASE_CONSUMER, ERASE_CONTACT, ERASE_EMPLOYEE = "EraseConsumer", "EraseContact", "ErasePrivateFacts"
ERASURES = (ERASE_CONSUMER, ERASE_CONTACT, ERASE_EMPLOYEE)
"""The operations that erase personal data. The verification of the history knows them by their beginning, `Erase`."""


@dataclass
class Erasure:
    """One erasure while it runs: the locked record, and what was changed in it so far."""

    record: Any
    entries: list[FieldChange] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    """The erased values; a reason that quotes one of them is erased as well."""
    has_erased_elsewhere: bool = False
    """Whether something was erased from another row that belongs to the person, such as the account."""

    def mark(self, row: models.Model, name: str) -> bool:
        """Replace a column of the record or of a child row by the mark of an erased value; return whether it had one.

        A column that cannot hold a text becomes empty.
        """
        column: Any = row._meta.get_field(name)
        value = getattr(row, name)
        if value in (None, "") or is_mark(value):
            return False
        if not isinstance(column, models.CharField | models.TextField):
            setattr(row, name, None)
            return True
        self.words.add(value)
        setattr(row, name, mark_of(column, value))
        return True

    def erase(self, *names: str) -> None:
        """Erase columns of the record itself."""
        for name in names:
            value = getattr(self.record, name)
            if self.mark(self.record, name):
                old = value.isoformat() if isinstance(value, datetime.datetime) else str(value)
                self.entries.append({"field": name, "old": {ERASED: digest_of(old)}, "new": getattr(self.record, name)})


@contextmanager
def erasing(
    model: type[SiteRecord],
    site_id: uuid.UUID,
    record_id: uuid.UUID,
    personal: Personal,
    identifying_columns: Collection[str],
    *,
    author: Author,
    operation: str,
    reason: str = "",
    with_texts: bool = False,
    precondition: Precondition | None = None,
) -> Iterator[Erasure]:
    """Lock a record for an erasure, and erase the personal values from its history when the block ends.

    The block erases them from the record. `with_texts` also erases, as a whole, each free text of the record and its
    history, and each name and description of its attachments, that contains one of the values. Saved filters and
    earlier imports of the site lose the values of the `identifying_columns`, which few people share. Everything is
    one transaction with its Change. The reason is required and stays, so it must not quote what is erased.
    Raises RecordNotFoundError, ValidationError (InvalidTransition while the record is on legal hold, or if there is
    nothing to erase), or the error of the precondition.
    """
    why = required_reason(reason)
    with recording() as trail:
        record = model._base_manager.select_for_update(of=("self",), no_key=True).filter(pk=record_id).first()
        if record is None or record.site_id != site_id:
            raise RecordNotFoundError
        if precondition is not None:
            precondition(record)
        refuse_on_hold(record)
        erasure = Erasure(record)
        yield erasure
        words = Words(erasure.words | words_in_history(record, personal))
        if words.are_quoted_in(why):
            text = gettext("The reason stays in the history, so it must not say what is erased.")
            raise fault_at("reason", text, "InvalidValue")
        identifiers = Words(
            set(map(one_line, words_in_history(record, replace(personal, columns=identifying_columns))))
        )
        erase_from_lists(site_id, identifiers, author=author, operation=operation, reason=why)
        if with_texts:
            erase_from_attachments(record, words, author=author, operation=operation, reason=why)
            personal = replace(personal, free_texts=free_texts(model, personal), is_personal=words.occur_in)
            erasure.erase(*(name for name in personal.free_texts if personal.is_personal(getattr(record, name))))
        erasure.entries += erase_from_history(record, personal, words.are_quoted_in, digest_of)
        if not erasure.entries:
            if erasure.has_erased_elsewhere:
                return
            text = gettext(
                "There is nothing to erase: neither the record nor its history has such data. Nothing was changed."
            )
            raise refuse(text)
        stamp(record, author)
        record.save(force_update=True)
        trail.add(record, erasure.entries, author=author, operation=operation, reason=why)


def free_texts(model: type[SiteRecord], personal: Personal) -> list[str]:
    """Return the names of the free texts of a kind of record, except those that are personal themselves."""
    fields = (field for field in model._meta.concrete_fields if isinstance(field, FreeTextField))
    return [field.name for field in fields if field.name not in personal.columns]


def texts_that_name_it(record: SiteRecord, personal: Personal) -> list[str]:
    """Return the names of the record's free texts that contain a personal value, now or in the history; two queries."""
    words = Words(words_in_history(record, personal))
    personal_texts = replace(personal, free_texts=free_texts(type(record), personal), is_personal=words.occur_in)
    changes = Change.objects.filter(record_id=record.pk, model=record._meta.label).values_list("fields", flat=True)
    entries = [entry for fields in changes for entry in fields]
    return [
        name
        for name in personal_texts.free_texts
        if personal_texts.is_personal(getattr(record, name))
        or any(entry["field"] == name and personal_texts.texts(entry, side) for entry in entries for side in SIDES)
    ]


def words_in_history(record: models.Model, personal: Personal) -> set[str]:
    """Return the personal values that the record's changes still contain; one query."""
    changes = Change.objects.filter(record_id=record.pk, model=record._meta.label)
    return {
        text
        for fields in changes.values_list("fields", flat=True)
        for entry in fields
        for side in SIDES
        for text in personal.texts(entry, side)
        if isinstance(entry.get(side), str) or personal.relation
    }
