"""Proving the history: every column of a tracked table that somebody alters with SQL is named, or listed with a reason.

The rows are made once for all cases. Each case alters one row of each kind: each fault says which record it is about.
"""

import datetime
import fnmatch
import itertools
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.db import models, transaction

from documents import copies, reading
from records.accounts import calendar_links, directories
from records.accounts.actions import set_members
from records.accounts.keys import issue_key
from records.accounts.models import DefaultRole, Role, RoleMembership
from records.actions.models import Status
from records.backoffice.list_columns import choose_columns
from records.backoffice.models import SavedFilter
from records.backoffice.saved_filters import store
from records.employees.actions import give_account
from records.employees.models import Course
from records.history import uncompared
from records.history.models import Change
from records.history.snapshots import kinds_with_history
from records.history.trail import now
from records.packs.actions import request_pack
from records.reference.actions import add_entry
from records.reference.models import ReferenceEntry, SiteEntry
from records.reminders.actions import choose_frequency
from records.reminders.models import Frequency
from records.sites.actions import add_folder
from records.sites.models import Entity, Site
from records.sites.writing import add_record, changing
from tests import make
from tests.make import audits
from tests.make.actions import make_action, move
from tests.make.attachments import make_attachment
from tests.make.chains import texts
from tests.make.complaints import make_completed, make_period, make_units_sold
from tests.make.customers import make_customer
from tests.make.documents import make_document, make_signer, sign, version_of
from tests.make.items import make_item
from tests.make.materials import make_material
from tests.make.oauth import make_client
from tests.make.webhooks import make_webhook
from tests.shared_fixtures import shared_fixture

OLD = datetime.datetime(2020, 2, 2, tzinfo=datetime.UTC)


def _cases() -> Iterator[tuple[Any, Any, Any]]:
    """Yield each column and list of each tracked table: the kind of record, the model of the row, and the field."""
    for kind in kinds_with_history():
        parts: list[Any] = [kind._meta.get_field(name).related_model for name in getattr(kind, "HISTORY_CHILDREN", ())]
        for model in [kind, *parts, *([RoleMembership] if kind is Role else [])]:
            for field in [*model._meta.concrete_fields, *model._meta.many_to_many]:
                if not getattr(field, "primary_key", False):
                    yield kind, model, field


CASES = {f"{model._meta.label}.{field.name}": (kind, model, field) for kind, model, field in _cases()}
COLUMNS = [name for name, (_, model, field) in CASES.items() if not uncompared.why_not_compared(model, field.name)]


def _rounds() -> list[list[str]]:
    """Return the columns that each case alters: of each kind of record one table, or alone one that others show."""
    groups: dict[Any, dict[str, list[str]]] = {}
    for name in COLUMNS:
        kind, model, field = CASES[name]
        owns = model is not kind and field.related_model is kind
        is_alone = owns or name.endswith((".site", ".entity", ".signature"))
        groups.setdefault(kind, {}).setdefault(name if is_alone else model._meta.label, []).append(name)
    rounds = itertools.zip_longest(*(groups_of_kind.values() for groups_of_kind in groups.values()), fillvalue=[])
    return [list(itertools.chain(*one)) for one in rounds]


@shared_fixture
def rows(site: Site, other_site: Site) -> None:
    """Make a row of every tracked table, through the actions that the product uses."""
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    author = make.author_of(manager)
    _set(site, {"code": "HB"})
    _make_lists(site)
    add_folder(site.pk, Entity.ITEM, "Scales", author=author)
    add_record(Course(site=site), {"name": "Hygiene"}, author=author, operation="AddCourse")
    make_units_sold(site, "2026-03", 7)
    make_period(site, months=12)
    training = [{"title": "Baker"}]
    with_account = make.make_employee(site)
    give_account(site.pk, with_account.pk, "ada", author=make.SYSTEM, reason="Starts")
    employee = make.make_employee(site, education_training=training, employment_history=[{"company": "Mill"}])
    make.make_job_description(site, employees=[employee])
    make_completed(site)
    make_item(site)
    make_customer(site, party_contacts=[{"last_name": "Meyer"}])
    make_material(site)
    audits.make_completed(audits.make_program(site))
    action = make_action(site)
    move(action, Status.DONE, manager)
    make_attachment(site, on=action)
    _make_document(site, author)
    _make_accounts(site, other_site)
    webhook = make_webhook(site, "https://warehouse.example.com/larder", ["item"])
    _set(webhook, {"state": "Paused", "pause_reason": "It moves."})
    store(SavedFilter(user=manager, site=site, listing="items.item", name="Mine", query="q=1"), author=author)
    choose_columns(manager, "items.item", ["name"], author=author)
    choose_frequency(manager, Frequency.OFF, author=author)
    request_pack(site, manager, OLD.date(), OLD.date(), ["changes"], author=author)
    assert not texts()


def _make_lists(site: Site) -> None:
    for model in apps.get_models():
        if issubclass(model, ReferenceEntry):
            at = site.pk if issubclass(model, SiteEntry) else None
            entry = add_entry(model, {"name": "Other", "code": "OTHER", "idx": 4}, author=make.SYSTEM, site_id=at)
            with changing(model, None, entry.pk, author=make.SYSTEM, operation="Archive") as record:
                record.is_archived = True
    audits.make_checklist(site, questions=("Clean?",))
    audits.make_rating(site)


def _make_document(site: Site, author: Any) -> None:
    reviewer, approver = make_signer(site), make_signer(site)
    role = make.make_role(site, ["documents.view_document"], [reviewer])
    lists: dict[str, Any] = {"user_to_review": [reviewer], "user_to_approve": [approver], "must_read": [role]}
    document = make_document(site, author=author, **lists)
    sign(version_of(document), reviewer)
    version = sign(version_of(document), approver, "approve")
    reading.confirm(version.pk, reviewer, author=make.author_of(reviewer))
    copies.add(version.pk, 1, reviewer, date=now(), author=make.author_of(reviewer))


def _make_accounts(site: Site, other_site: Site) -> None:
    """Make an account with all facts and credentials, a role and a directory; each column is named by a change."""
    user = make.make_user(site=site, role=DefaultRole.MANAGER, email="uma@example.org")
    directory = directories.add_directory("People", site, sites=[other_site], author=make.SYSTEM)
    end = now() + datetime.timedelta(days=9)
    for credential, _ in (
        issue_key(user, site, "Scales", author=make.SYSTEM, expires=end),
        make_client(user, expires=end),
        calendar_links.issue_link(user, author=make.SYSTEM),
        directories.issue_token(directory, "Entra", author=make.SYSTEM, addresses=["192.0.2.0/24"]),
    ):
        facts = {"revoked": now(), "expires": end}
        _set(credential, facts)
    _set(directory, {"stopped": now(), "confirmed": now()})
    texts_of_user = dict.fromkeys(("user_type", "preferred_language", "locale", "language", "display_name"), "en")
    _set(user, {**texts_of_user, "directory": directory, "removed": now()})
    role = make.make_role(site, ["items.view_item"], [user])
    _set(role, {"directory": directory, "external_id": "r1"})
    set_members(make.make_role(site, []), add=[role], author=make.SYSTEM)


def _set(row: Any, values: dict[str, Any]) -> None:
    with changing(type(row), None, row.pk, author=make.SYSTEM, operation="Set") as record:
        for name, value in values.items():
            setattr(record, name, value)


def other_value(field: Any, value: Any) -> Any:
    """Return another value that the column of a field can hold."""
    if isinstance(field, models.UUIDField | models.ForeignKey):
        return None if value is not None and field.unique else uuid.uuid4()
    if isinstance(field, models.BooleanField):
        return not value
    if isinstance(field, models.DateTimeField):
        return OLD
    if isinstance(field, models.DateField):
        return OLD.date() + datetime.timedelta(days=1)
    if isinstance(field, models.JSONField):
        return ["forged"]
    if isinstance(field, models.DecimalField):
        return (value or Decimal(0)) + 1
    if isinstance(field, models.IntegerField):
        return (value or 0) + 5
    return "forged"[: field.max_length]


def alter(model: Any, field: Any) -> Any:
    """Alter a field in one row, past the product, and return the row as it was."""
    changes = Change.objects.filter(model=model._meta.label)
    record_ids = changes.naming("field", f'{field.name}"').values("record_id")
    every = model._base_manager.order_by("pk")
    if model in kinds_with_history():
        every = every.filter(pk__in=changes.values("record_id"))
    if field.many_to_many:
        row = every.filter(pk__in=record_ids).first() or every.first()
        through, owner, target = field.remote_field.through, field.m2m_field_name(), field.m2m_reverse_field_name()
        through._base_manager.create(**{f"{owner}_id": row.pk, f"{target}_id": uuid.uuid4()})
        return row
    with_value = every.exclude(**{field.name: None})
    row = with_value.filter(pk__in=record_ids).first() or with_value.first() or every.first()
    assert row is not None, "no row of this table is made"
    assert every.filter(pk=row.pk).update(**{field.attname: other_value(field, getattr(row, field.attname))})
    return row


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("names", _rounds())
def test_each_column_altered_with_sql_is_named(names: list[str]) -> None:
    # Foreign keys that point nowhere are checked at the end of the test's own transaction.
    with transaction.atomic():
        rows_of = {name: alter(*CASES[name][1:]) for name in names}
        faults = texts()
        transaction.set_rollback(True)
    parts = {part for text in faults for part in parts_of(text)}
    assert [name for name in names if not parts & expected(*CASES[name], rows_of[name])] == []


def parts_of(fault: str) -> Iterator[str]:
    """Yield each column that a fault names, as `app.Model key: column`."""
    *_, place, columns = f": {fault}".rsplit(": ", 2)
    for column in columns.split(", "):
        yield f"{place.removeprefix('another row contradicts ')}: {column}"


def expected(kind: Any, model: Any, field: Any, row: Any) -> set[str]:
    """Return how a fault can name the field: a row that is a part of a record is named with it, or by itself."""
    place = f"{model._meta.label} {row.pk}"
    if model is kind and field.name == "site" and "site" in kind.HISTORY_EXCLUDE:
        number = Change.objects.filter(record_id=row.pk, model=model._meta.label).latest("number").number
        return {f"the record of change {number} is at another site now: {place}"}
    if model is kind:
        return {f"{place}: {field.name}"}
    relation = next(one for one in kind._meta.related_objects if one.related_model is model)
    field_name = "members" if model is RoleMembership else relation.name
    column = "" if model is RoleMembership or field is relation.field else f".{field.name}"
    owner = f"{kind._meta.label} {getattr(row, relation.field.attname)}"
    return {f"{place}: {field.name}", f"{owner}: {field_name}{column}"}


def test_what_is_not_compared_has_a_column_and_one_reason() -> None:
    places = {f"{model._meta.label}.{field.name}" for model in apps.get_models() for field in model._meta.get_fields()}
    for pattern in (*uncompared.DERIVED, *uncompared.EXEMPT):
        assert fnmatch.filter(places, pattern), pattern
    assert len(COLUMNS) > 400
