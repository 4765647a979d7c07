"""Who and what an audit may point at in its lists: auditors, auditees, checklists (DECISIONS 2.6, 4)."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from records.accounts import access
from records.sites.models import SiteRecord
from records.sites.references import ARCHIVED, UNKNOWN, reference_fault

PEOPLE = ("auditors", "auditees")
OTHERS = ("checklists", "procedures")


def check_lists(record: SiteRecord, values: Mapping[str, Any]) -> None:
    """Raise ValidationError naming each newly listed person, checklist or document that is not valid at the site.

    What a stored record lists already stays valid. Costs two queries where people of other sites are among the new.
    """
    faults: list[ValidationError] = []
    for name in (*PEOPLE, *OTHERS):
        listed: Sequence[Any] = values.get(name) or ()
        if not listed:
            continue
        new = [(idx, target) for idx, target in enumerate(listed) if target.pk not in _held(record, name)]
        valid = _valid_accounts(record.site_id, (target for _, target in new)) if name in PEOPLE else set()
        for idx, target in new:
            fault = (
                person_fault(target, record.site_id, valid)
                if name in PEOPLE
                else reference_fault(target, type(target), record.site_id)
            )
            if fault:
                at = {"relation": name, "idx": idx, "name": "id"}
                faults.append(ValidationError(fault, code="InvalidReference", params=at))
    if faults:
        raise ValidationError(faults)


def still_valid(site_id: uuid.UUID, people: Iterable[Any]) -> list[Any]:
    """Return those who may be chosen at the site today; two queries where people of other sites are among them."""
    listed = list(people)
    valid = _valid_accounts(site_id, listed)
    return [person for person in listed if not person_fault(person, site_id, valid)]


def person_fault(person: Any, site_id: uuid.UUID, valid_accounts: set[uuid.UUID]) -> str:
    """Return why the employee may not be chosen at the site, or an empty text.

    Valid are the site's own employees and any whose account holds a role at the site.
    """
    if person.site_id != site_id and person.user_id not in valid_accounts:
        return UNKNOWN.format(name="employee")
    return ARCHIVED.format(name="employee") if person.is_archived else ""


def _held(record: SiteRecord, name: str) -> set[uuid.UUID]:
    if record._state.adding:
        return set()
    related: models.Manager[Any] = getattr(record, name)
    return set(related.values_list("pk", flat=True))


def _valid_accounts(site_id: uuid.UUID, people: Iterable[Any]) -> set[uuid.UUID]:
    foreign = {person.user_id for person in people if person.site_id != site_id and person.user_id}
    if not foreign:
        return set()
    return set(access.accounts_at(site_id).filter(pk__in=foreign).values_list("pk", flat=True))
