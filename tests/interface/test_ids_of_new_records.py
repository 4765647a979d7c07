"""No caller chooses the Id of a new record, so none gets the Id of a record of another kind (records.sites.writing)."""

import uuid
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from records.accounts.models import Role, User
from records.attachments.models import Attachment
from records.customers.models import Customer
from records.employees.models import Employee
from records.items.models import Item
from records.sites.models import Site
from tests.interface.subjects import KEY_OPERATIONS, body_for, ids_of, path_of
from tests.make.backoffice import browser
from tests.make.items import make_item
from tests.make.materials import make_api
from tests.make.transfer import check, faults
from tests.scim.conftest import Scim
from tests.scim.people import make_directory, make_token

pytestmark = pytest.mark.django_db

ADDS = [entry for entry in KEY_OPERATIONS if entry[0].adds]


@pytest.fixture
def item(site: Site) -> Item:
    """Return the record whose Id the callers name."""
    return make_item(site)


@pytest.mark.parametrize(("operation", "viewset"), ADDS, ids=ids_of(ADDS))
def test_an_add_ignores_an_id(operation: Any, viewset: Any, site: Site, item: Item, api: Any) -> None:
    answer = api.post(path_of(operation, viewset), {**body_for(operation, site), "Id": str(item.pk)})
    assert answer.status_code == 200, answer.content
    assert answer.json()["Id"] != str(item.pk)


def test_an_upsert_of_a_material_refuses_the_id_of_anything_else(site: Site, item: Item) -> None:
    answer = make_api(site).upsert({"Id": str(item.pk), "externalId": "M-1", "name": "Flour"})
    assert answer.status_code == 404


def test_an_import_refuses_the_id_of_anything_else(site: Site, item: Item) -> None:
    report = check(browser(site), Customer, [{"Id": str(item.pk), "Name": "Acme"}])
    assert faults(report) == {2: ["Id: The site has no customer with this Id."]}


def test_a_directory_names_no_id(site: Site, item: Item) -> None:
    scim = Scim(make_token(make_directory(site)))
    scim.add_user("ada@corp.local", id=str(item.pk))
    scim.add_group("Line", id=str(item.pk))
    assert scim.put(f"/Users/{item.pk}", {"userName": "ada@corp.local"}).status_code == 404
    assert not any(model._base_manager.filter(pk=item.pk).exists() for model in (User, Employee, Role))


@pytest.mark.parametrize("name", ["once", "larder_once"])
def test_an_upload_computes_its_id(site: Site, item: Item, name: str) -> None:
    place = reverse("admin:attachments_add", args=("item", item.pk))
    once = uuid.UUID(int=item.pk.int ^ 1)
    browser(site).post(place, {"files": SimpleUploadedFile("a.txt", b"a"), name: str(once)})
    assert Attachment.objects.get().pk != once
