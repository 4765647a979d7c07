"""How a file refers to records: by a name or code that is unique at the site, or by an Id.

The rule, in both directions: a cell may contain the Id, the name or the code, in any case. A name or code that several
active entries have is refused, with a list of them; it means an archived entry only if no active entry has it. An
export writes the name if an import would find the same record by it, otherwise the code, otherwise the Id.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext

from records.accounts.models import User
from records.sites.targets import UNKNOWN, existing_at
from records.sites.text import fold, read_uuid

Match = tuple[uuid.UUID, bool, str]
"""The key of a record, whether it is archived, and what it is called in messages."""
RowFilter = Callable[[models.QuerySet[Any]], models.QuerySet[Any]]
STEP = 500


class Names:
    """Finds the records of the cells of one import or export, in a fixed number of queries per kind of record."""

    def __init__(
        self, site_id: uuid.UUID, holder: type[models.Model], visible_rows: RowFilter = lambda rows: rows
    ) -> None:
        """Prepare the names of records of the site; `visible_rows` removes those that do not exist for the user."""
        self.site_id, self.holder, self.visible_rows = site_id, holder, visible_rows
        self._matches: dict[type[models.Model], dict[str, set[Match]]] = {}
        self._searched_texts: dict[type[models.Model], set[str]] = defaultdict(set)

    # --- In ----------------------------------------------------------------------------------------------------------

    def resolve(self, model: type[models.Model], texts: Iterable[str]) -> dict[str, models.Model | str]:
        """Return for each text its record, or the message why there is none."""
        ids = {text: read_uuid(text) if len(text) == 36 else None for text in set(texts)}
        self._look_up(model, [text for text, key in ids.items() if key is None])
        keys: dict[str, uuid.UUID] = {}
        answers: dict[str, models.Model | str] = {}
        for text, key in ids.items():
            result = key or self._match(model, text)
            if isinstance(result, str):
                answers[text] = result
            else:
                keys[text] = result
        records: dict[uuid.UUID, models.Model] = {}
        for part in chunks(sorted(set(keys.values()))):
            records |= self.visible_rows(model._default_manager.all()).in_bulk(part)
        for text, key in keys.items():
            answers[text] = records.get(key) or unknown(model, text)
        return answers

    def _match(self, model: type[models.Model], text: str) -> uuid.UUID | str:
        matches = self._matches.get(model, {}).get(fold(text), set())
        active = {key: label for key, archived, label in matches if not archived}
        candidates = active or {key: label for key, _, label in matches}
        if len(candidates) == 1:
            return next(iter(candidates))
        if not candidates:
            return unknown(model, text)
        plural, names = model._meta.verbose_name_plural, name_list(sorted(candidates.values()))
        return gettext("%(count)s %(plural)s are called %(text)s: %(names)s. Write the code or the Id instead.") % {
            "count": len(candidates),
            "plural": plural,
            "text": text[:100],
            "names": names,
        }

    # --- Out ---------------------------------------------------------------------------------------------------------

    def spell(self, model: type[models.Model], keys: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
        """Return the text for each record in a file, with which `resolve` finds it again."""
        ids = sorted(set(keys))
        spellings_of: dict[uuid.UUID, Sequence[str]] = {}
        for part in chunks(ids):
            for key, spellings, _ in _spellings(self.visible_rows(model._default_manager.filter(pk__in=part)), model):
                spellings_of[key] = spellings
        self._look_up(model, [text for spellings in spellings_of.values() for text in spellings])
        return {key: self._first(model, key, spellings_of.get(key, ())) for key in ids}

    def display_names(self, model: type[models.Model], keys: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
        """Return what people call each record, which need not be unique, for columns that no import reads."""
        names: dict[uuid.UUID, str] = {}
        ids = sorted(set(keys))
        for part in chunks(ids):
            for key, spellings, _ in _spellings(self.visible_rows(model._default_manager.filter(pk__in=part)), model):
                names[key] = spellings[-1] if model is User else spellings[0]
        return {key: names.get(key) or str(key) for key in ids}

    def _first(self, model: type[models.Model], key: uuid.UUID, spellings: Sequence[str]) -> str:
        for text in spellings:
            is_plain = text == text.strip() and read_uuid(text) is None and not set(text) & set(";\n\r")
            if text and is_plain and not text.startswith("[") and self._match(model, text) == key:
                return text
        return str(key)

    # --- What there is -----------------------------------------------------------------------------------------------

    def _look_up(self, model: type[models.Model], texts: Iterable[str]) -> None:
        names = {field.name for field in model._meta.concrete_fields}
        if not {"name_key", "code_key"} <= names:
            # There are few folders, people and documents, so they are all read, and only once.
            if model not in self._matches:
                self._add(model, existing_at(model, self.site_id, self.holder))
            return
        new = {fold(text) for text in texts} - self._searched_texts[model] - {""}
        self._searched_texts[model] |= new
        for part in chunks(sorted(new)):
            self._add(
                model, existing_at(model, self.site_id, self.holder).filter(Q(name_key__in=part) | Q(code_key__in=part))
            )

    def _add(self, model: type[models.Model], rows: models.QuerySet[Any]) -> None:
        matches = self._matches.setdefault(model, defaultdict(set))
        for key, spellings, archived in _spellings(self.visible_rows(rows), model):
            name, *other_spellings = spellings
            label = f"{name} ({next(filter(None, other_spellings), '') or key})"
            for text in spellings:
                if text:
                    matches[fold(text)].add((key, archived, label))


def name_list(names: Iterable[str]) -> str:
    """Return up to ten names in one line: `Ann (1), Ann (2) and Ann (3)`."""
    all_names = list(names)
    if len(all_names) > 10:
        return gettext("%(names)s and %(value)s more") % {
            "names": ", ".join(all_names[:10]),
            "value": len(all_names) - 10,
        }
    return gettext(" and ").join(filter(None, (", ".join(all_names[:-1]), all_names[-1]))) if all_names else ""


def chunks(terms: Sequence[object]) -> Iterator[Sequence[Any]]:
    """Yield the search terms in parts that are small enough for one statement."""
    for start in range(0, len(terms), STEP):
        yield terms[start : start + STEP]


def unknown(model: type[models.Model], text: str) -> str:
    """Return the message for a text that matches nothing at the site."""
    return f"{UNKNOWN.format(name=model._meta.verbose_name).rstrip('.')} ({text[:100]})."


def _spellings(
    rows: models.QuerySet[Any], model: type[models.Model]
) -> Iterable[tuple[uuid.UUID, tuple[str, ...], bool]]:
    """Yield each row's key, its names, and whether it is archived."""
    if model is User:
        for user in rows.only("user_name", "display_name", "given_name", "family_name"):
            yield user.pk, (user.user_name, user.printed_name), False
        return
    names = {field.name for field in model._meta.concrete_fields}
    name_fields = ("name",) if "name" in names else ("first_name", "last_name")
    code = ("code",) if "code" in names else ()
    for key, archived, *values in rows.values_list("pk", "is_archived", *name_fields, *code):
        yield key, (" ".join(values[: len(name_fields)]).strip(), *values[len(name_fields) :]), archived
