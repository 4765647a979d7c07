"""What a Get operation answers is accepted by the Update operation, whatever has become of what the record refers to.

An archived entry, or a person whose access or roles ended, stays valid on old records (DECISIONS 1.17, 4).
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import models

from documents.models import Document
from records.accounts.models import DefaultRole, RoleMembership, User
from records.history.models import Change
from records.sites.about import kinds
from records.sites.models import EntityFolder, Site
from tests import make
from tests.interface.subjects import body_for, ids_of, path_of, record_for
from tests.interface.test_bodies import update_operations

pytestmark = pytest.mark.django_db

every_update = pytest.mark.parametrize(("operation", "viewset"), update_operations, ids=ids_of(update_operations))


def switch_off(target: models.Model) -> None:
    """Archive a record or an entry, or end the access of an account."""
    change = {"is_active": False} if isinstance(target, User) else {"is_archived": True}
    if hasattr(target, *change):
        type(target)._base_manager.filter(pk=target.pk).update(**change)


def take_roles(target: models.Model) -> None:
    """End all roles of an account."""
    if isinstance(target, User):
        RoleMembership.objects.filter(user=target).delete()


def targets_in(body: dict[str, Any], serializer: Any) -> Iterator[models.Model]:
    """Yield each row that a body refers to, child rows and the record that an action is about included."""
    for name, value in body.items():
        field = serializer.wire_fields()[name]
        if name == "RecordId":
            yield next(row for model in kinds().values() for row in model._base_manager.filter(pk=value))
        elif inner := getattr(field, "serializer_class", None):
            for row in value:
                yield from targets_in(row, inner)
        elif model := getattr(field, "model", None):
            keys = [one["Id"] for one in value] if isinstance(value, list) else [value]
            yield from model._base_manager.filter(pk__in=keys)


@every_update
@pytest.mark.parametrize("end", [switch_off, take_roles])
def test_what_was_read_is_taken_back_although_all_that_it_refers_to_has_ended(
    operation: Any, viewset: Any, end: Callable[[models.Model], None], site: Site, api: Any
) -> None:
    record = record_for(operation, site)
    serializer, path = operation.request, path_of(operation, viewset, record.pk)
    body = body_for(operation, site)
    if getattr(serializer.wire_fields().get("EntityFolderId"), "model", None) is EntityFolder:
        body["EntityFolderId"] = str(make.make_folder(site, record.ENTITY).pk)
    assert api.put(path, body).status_code == 200
    targets = list(targets_in(body, serializer))
    for target in targets:
        end(target)
    read_path = path.replace("Update", "Get").replace("Detail", "")
    read = api.get(read_path)
    number = Change.objects.count()
    payload = read.json() | {name: body[name] for name in ("FileContent", "ReasonForChange") if name in body}
    answer = api.put(path, payload)
    assert answer.status_code == 200, answer.json()
    after = api.get(read_path)
    if isinstance(record, Document):  # An update is a new version by definition.
        people = ("UserToReview", "UserToApprove", "UserToNotify", "EntityFolderId")
        assert {name: after.json()[name] for name in people} == {name: read.json()[name] for name in people}
        return
    assert after.json() == read.json()
    assert after["ETag"] == read["ETag"]
    assert Change.objects.count() == number


@every_update
def test_an_account_whose_access_ended_is_refused_anew(operation: Any, viewset: Any, site: Site, api: Any) -> None:
    """An account that one record names may not be named by another record."""
    holder, record = record_for(operation, site), record_for(operation, site)
    naming = [name for name, one in operation.request.wire_fields().items() if getattr(one, "model", None) is User]
    for name in naming:
        body = body_for(operation, site)
        place = f"{name}[0].Id" if isinstance(body[name], list) else name
        named_user, new_user = (make.make_user(site=site, role=DefaultRole.READER) for _ in range(2))
        for user in (named_user, new_user):
            body[name] = [{"Id": str(user.pk)}] if isinstance(body[name], list) else str(user.pk)
            if user is named_user:
                assert api.put(path_of(operation, viewset, holder.pk), body).status_code == 200
            switch_off(user)
            answer = api.put(path_of(operation, viewset, record.pk), body)
            assert answer.status_code == 400
            faults = [(fault["Field"], fault["Code"], fault["Message"]) for fault in answer.json()["Fields"]]
            assert faults == [(place, "InvalidReference", "No such user at this site.")]
