"""Whatever a record points at is judged by one rule, through the body, the picker, the import and the action alike."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models

from documents.models import Document
from materials.models import Material
from records.accounts.models import DefaultRole, User
from records.audits.models import AuditProgram
from records.backoffice.autocomplete import choices_at
from records.backoffice.transfer.name_resolution import Names
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.employees.models import Employee, JobDescription
from records.items.models import Item
from records.operations.operation import all_operations
from records.operations.references import unknown_among
from records.reference.models import Rating, RatingResponse, ReferenceEntry, SiteEntry
from records.sites.models import Entity, EntityFolder, Site, SiteRecord
from records.sites.targets import ARCHIVED, UNKNOWN, check_lists, check_references, errors_of, valid_at
from tests import make
from tests.make import audits
from tests.make.complaints import make_complaint, make_entry
from tests.make.customers import make_customer
from tests.make.documents import make_document
from tests.make.items import make_item
from tests.make.materials import make_material

LEFT_OUT = {"site", "created_by", "last_modified_by"}
"""Columns that the product sets by itself."""


def pointing() -> Iterator[Any]:
    """Yield every field of a record or of its child rows by which it points at something that somebody chooses."""
    records = [model for model in apps.get_models() if issubclass(model, SiteRecord)]
    models_and_owners: list[tuple[Any, str]] = [(model, "") for model in records]
    for model in records:
        relations: list[Any] = [model._meta.get_field(name) for name in getattr(model, "HISTORY_CHILDREN", ())]
        models_and_owners += [(relation.related_model, relation.field.name) for relation in relations]
    for model, owner in models_and_owners:
        for field in (*model._meta.concrete_fields, *model._meta.many_to_many):
            if field.is_relation and field.editable and field.name not in LEFT_OUT | {owner}:
                target = field.related_model
                if target in MAKERS or issubclass(target, ReferenceEntry | EntityFolder | User):
                    yield field


MAKERS: dict[Any, Callable[[Site], Any]] = {
    Employee: make.make_employee,
    JobDescription: make.make_job_description,
    Customer: make_customer,
    Item: make_item,
    Document: make_document,
    Complaint: make_complaint,
    Material: make_material,
    AuditProgram: audits.make_program,
    Rating: lambda site: audits.make_rating(site, name=uuid.uuid4().hex),
    RatingResponse: lambda site: audits.make_rating(site, name=uuid.uuid4().hex).responses.first(),
}


def make_target(field: Any, site: Site) -> models.Model:
    """Make a row of the kind that the field points at."""
    target = field.related_model
    if target in MAKERS:
        return MAKERS[target](site)
    if target is EntityFolder:
        return make.make_folder(site, entity=getattr(field.model, "ENTITY", Entity.EMPLOYEE), name=uuid.uuid4().hex)
    if target is User:
        return make.make_user(site=site, role=DefaultRole.READER)
    return make_entry(target, site, name=uuid.uuid4().hex) if issubclass(target, SiteEntry) else target.objects.first()


FIELDS = sorted({f"{field.model._meta.label}.{field.name}": field for field in pointing()}.items())


def test_the_fields_are_found() -> None:
    names = [name for name, _ in FIELDS]
    assert len(names) > 35
    for name in (
        "employees.Employee.reporting_to",
        "employees.JobDescription.employees",
        "audits.AuditProgram.auditors",
    ):
        assert name in names


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "field"), FIELDS, ids=[name for name, _ in FIELDS])
def test_every_door_offers_and_takes_the_same(name: str, field: Any, site: Site, other_site: Site) -> None:
    target = field.related_model
    own = make_target(field, site)
    rows = {"own": own}
    if not (issubclass(target, ReferenceEntry) and not issubclass(target, SiteEntry)):
        rows["elsewhere"] = make_target(field, other_site)
    if hasattr(own, "is_archived"):
        archived = make_target(field, site) if "elsewhere" in rows else own
        if archived is not own:
            type(archived)._base_manager.filter(pk=archived.pk).update(is_archived=True)
            archived.refresh_from_db()
            rows["archived"] = archived
    expected = {"own": "", "elsewhere": UNKNOWN, "archived": ARCHIVED}
    choices = set(choices_at(field, site.pk).values_list("pk", flat=True))
    valid_ids = set(valid_at(target, site.pk, field.model).values_list("pk", flat=True))
    for kind, row in rows.items():
        fault = str(expected[kind]).format(name=target._meta.verbose_name)
        assert errors_of(target, [row], site.pk, field.model).get(row.pk, "") == fault, kind
        assert (row.pk in valid_ids, row.pk in choices) == (not fault, not fault), kind
        assert bool(unknown_among(target, [row], site.pk, field.model)) == (kind == "elsewhere"), kind
        assert save_error(field, row, site) == fault, kind
        record = Names(site.pk, field.model).resolve(target, [str(row.pk)])[str(row.pk)]
        assert isinstance(record, models.Model)


def save_error(field: Any, operation: models.Model, site: Site) -> str:
    """Return what the writer says of a new record that points at the row."""
    record = field.model()
    try:
        if field.many_to_many:
            check_lists(record, site.pk, {field.name: [operation]}, {})
        else:
            setattr(record, field.name, operation)
            check_references(record, site.pk, [field.name])
    except ValidationError as error:
        return " ".join(error.messages)
    return ""


@pytest.mark.django_db
def test_somebody_of_another_site_who_holds_a_role_here_is_taken_where_the_rule_says_so(
    site: Site, other_site: Site
) -> None:
    user = make.make_user(site=other_site, role=DefaultRole.READER)
    make.give_role(user, site, DefaultRole.READER)
    person = make.make_employee(other_site, id=user.pk, user=user)
    takes = {
        f"{field.model._meta.label}.{field.name}"
        for _, field in FIELDS
        if field.related_model is Employee and choices_at(field, site.pk).filter(pk=person.pk).exists()
    }
    assert takes == {
        "employees.Employee.reporting_to",
        "audits.AuditProgram.auditors",
        "audits.AuditProgram.auditees",
        "audits.AuditRecord.auditors",
        "audits.AuditRecord.auditees",
    }
    for name, field in FIELDS:
        if field.related_model is Employee:
            assert (save_error(field, person, site) == "") == (name in takes), name


def test_every_operation_that_points_is_covered() -> None:
    """A serializer's references are columns or lists of models that the fields above are taken from."""
    targets = {field.related_model for _, field in FIELDS}
    for operation, _ in all_operations():
        for one in getattr(operation.request, "wire_fields", dict)().values() if operation.request else ():
            model = getattr(one, "model", None)
            assert model is None or model in targets or one.read_only, (operation.name, model)
