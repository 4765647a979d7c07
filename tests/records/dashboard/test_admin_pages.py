"""The pages of the trail, accounts, roles, lists and sites."""

import functools
import threading
from contextlib import suppress
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from records.accounts import access
from records.accounts.actions import add_user
from records.accounts.clients import issue_client
from records.accounts.keys import issue_key
from records.accounts.models import DefaultRole, Role, User
from records.backoffice.lists import ArchivedFilter
from records.employees.actions import archive_employee, give_account
from records.employees.models import Employee
from records.history.models import Change
from records.reference.models import Product, Rating
from records.sites.models import Entity, EntityFolder, Site
from tests import make
from tests.make.backoffice import address, browser, form_of, list_address, sign_in


def root() -> User:
    return make.make_user("root", is_superuser=True)


def save(client: Client, record: Any, **changes: Any) -> Any:
    data = form_of(client.get(address(record)))
    return client.post(address(record), {**data, **changes})


def test_the_trail_is_for_managers_and_above(site: Site, other_site: Site) -> None:
    employee = make.make_employee(site, notes="Left-handed")
    change = Change.objects.get(record_id=employee.pk)
    for role in (DefaultRole.READER, DefaultRole.STANDARD):
        client = browser(site, role)
        assert client.get(list_address(Change)).status_code == 403
        assert client.get(address(change)).status_code in (403, 404)
    page = browser(site).get(address(change))
    assert "Left-handed" in page.content.decode()
    assert browser(other_site).get(address(change)).status_code == 404
    assert str(employee) not in browser(other_site).get(list_address(Change)).content.decode()


def test_the_trail_shows_private_fields_only_to_those_who_may_see_them(site: Site) -> None:
    employee = make.make_employee(site, notes="Left-handed")
    change = Change.objects.get(record_id=employee.pk)
    clerk = make.make_user(site=site)
    make.make_role(site, ["employees.view_employee", "history.view_change"], [clerk])
    assert "Left-handed" not in sign_in(clerk, site).get(address(change)).content.decode()


def test_a_list_entry_is_added_changed_and_archived_by_the_sites_administrator(site: Site, other_site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    add = reverse("admin:reference_product_add")
    data = form_of(client.get(add)) | {"name": "Rye loaf", "code": "007"}
    assert client.post(add, data).status_code == 302
    product = Product.objects.get(name="Rye loaf")
    assert (product.site_id, product.code) == (site.pk, "007")
    twice = client.post(add, data)
    assert twice.status_code == 200
    assert "already has an active entry" in twice.content.decode()
    assert save(client, product, name="Rye bread", change_reason="New name").status_code == 302
    step = reverse("admin:reference_product_step", args=(product.pk, "archive"))
    assert client.post(step, {"change_reason": "Gone"}).status_code == 302
    product.refresh_from_db()
    assert (product.name, product.is_archived) == ("Rye bread", True)
    operations = list(
        Change.objects.filter(record_id=product.pk).order_by("number").values_list("operation", "channel")
    )
    assert operations == [(f"{verb}Product", "Back-office") for verb in ("Add", "Update", "Archive")]
    assert browser(site).post(add, data).status_code == 403
    assert browser(other_site, DefaultRole.SITE_ADMINISTRATOR).get(address(product)).status_code == 404


def test_a_ratings_responses_and_bands_are_edited_on_its_page(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    add = reverse("admin:reference_rating_add")
    data = form_of(client.get(add)) | {
        "name": "Audit",
        "responses-TOTAL_FORMS": "2",
        "responses-0-name": "Yes",
        "responses-0-score": "10",
        "responses-1-name": "No",
        "responses-1-score": "0",
        "bands-TOTAL_FORMS": "1",
        "bands-0-from_score": "0",
        "bands-0-to_score": "100",
        "bands-0-rating": "Good",
    }
    assert client.post(add, data).status_code == 302
    rating = Rating.objects.get(name="Audit")
    assert [response.name for response in rating.responses.all()] == ["Yes", "No"]
    gone = save(client, rating, **{"responses-1-DELETE": "on", "responses-0-score": "9", "change_reason": "Simpler"})
    assert gone.status_code == 302
    assert [(r.name, r.is_archived, int(r.score or 0)) for r in rating.responses.all()] == [
        ("Yes", False, 9),
        ("No", True, 0),
    ]


def test_a_shared_list_is_read_by_all_and_changed_by_superusers(site: Site) -> None:
    nature = make.nature()
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert client.get(address(nature)).status_code == 200
    assert client.post(address(nature), {"name": "Staff"}).status_code == 403
    assert save(sign_in(root(), site), nature, idx="7", change_reason="Order").status_code == 302
    nature.refresh_from_db()
    assert nature.idx == 7


def test_folders_are_added_moved_and_archived(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    add = reverse("admin:sites_entityfolder_add")
    data = form_of(client.get(add)) | {"entity": Entity.EMPLOYEE, "name": "Bakery"}
    assert client.post(add, data).status_code == 302
    folder = EntityFolder.objects.get(name="Bakery")
    other = make.make_folder(site, Entity.COMPLAINT)
    refused = save(client, folder, parent=str(other.pk), change_reason="Inside")
    assert refused.status_code == 200
    assert refused.context["adminform"].form.errors["parent"]
    assert save(client, folder, name="Bakehouse", change_reason="Name").status_code == 302
    step = reverse("admin:sites_entityfolder_step", args=(folder.pk, "archive"))
    make.make_employee(site, entity_folder=EntityFolder.objects.get(pk=folder.pk))
    full = client.post(step, {"change_reason": "Gone"})
    assert "still holds 1 employee" in full.content.decode()


def test_sites_are_added_by_superusers_and_changed_by_their_administrators(site: Site, other_site: Site) -> None:
    client = sign_in(root())
    add = reverse("admin:sites_site_add")
    data = form_of(client.get(add)) | {"name": "Quay Mill", "time_zone": "Europe/London"}
    assert client.post(add, data).status_code == 302
    new = Site.objects.get(name="Quay Mill")
    assert Role.objects.filter(site=new).count() == 4
    theirs = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert save(theirs, site, time_zone="America/New_York", change_reason="Moved").status_code == 302
    bad = save(theirs, site, time_zone="Mars/Base", change_reason="Moved")
    assert "no time zone name" in bad.content.decode()
    assert theirs.get(address(other_site)).status_code == 404
    assert theirs.get(add).status_code == 403


def test_an_account_is_changed_only_by_those_who_administer_every_site_where_it_has_a_role(
    site: Site, other_site: Site
) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    plain = make.make_user(site=site, role=DefaultRole.READER)
    wide = make.make_user(site=site, role=DefaultRole.READER)
    make.give_role(wide, other_site, DefaultRole.READER)
    high = make.make_user(site=site, role=DefaultRole.READER, is_superuser=True)
    assert save(client, plain, email="plain@example.com", change_reason="New").status_code == 302
    for user in (wide, high):
        assert client.get(address(user)).status_code == 200
        assert client.post(address(user), {"email": "taken@example.com", "change_reason": "x"}).status_code == 403
    foreign = make.make_user(site=other_site, role=DefaultRole.READER)
    assert client.get(address(foreign)).status_code == 404
    assert 'name="is_superuser"' not in client.get(address(plain)).content.decode()
    save(client, plain, is_superuser="on", display_name="P", change_reason="x")
    assert not User.objects.get(pk=plain.pk).is_superuser


def test_an_account_is_added_and_its_access_ended_and_given_back(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    add = reverse("admin:accounts_user_add")
    data = form_of(client.get(add)) | {"user_name": "Noor", "email": "noor@example.com"}
    assert client.post(add, data).status_code == 302
    user = User.objects.get(user_name="Noor")
    assert (user.home_site_id, user.has_usable_password()) == (site.pk, False)
    taken = client.post(add, data | {"user_name": "NOOR"})
    assert taken.status_code == 200
    assert client.post(reverse("admin:accounts_user_step", args=(user.pk, "end-access")), {"change_reason": "Left"})
    assert not User.objects.get(pk=user.pk).is_active
    client.post(reverse("admin:accounts_user_step", args=(user.pk, "give-access")), {"change_reason": "Back"})
    assert User.objects.get(pk=user.pk).is_active


@pytest.mark.django_db(transaction=True)
def test_two_who_give_one_name_at_once_are_told_as_if_one_came_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both look before either has written, so that only the database's constraint can tell."""
    site, both_have_looked, checked = make.make_site(), threading.Barrier(2), User.full_clean

    def check_and_wait(self: User, *args: Any, **kwargs: Any) -> None:
        checked(self, *args, **kwargs)
        with suppress(threading.BrokenBarrierError):
            both_have_looked.wait(1)

    monkeypatch.setattr(User, "full_clean", check_and_wait)
    add = functools.partial(add_user, author=make.SYSTEM)
    answers = make.at_once(*(lambda name=name: add(User(user_name=name, home_site=site)) for name in ("Noor", "NOOR")))
    refused = [one for one in answers if isinstance(one, ValidationError)]
    assert len(refused) == 1, answers
    assert "Another account has this user name." in str(refused[0])


def test_a_role_is_made_with_permissions_and_members(site: Site, other_site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    add = reverse("admin:accounts_role_add")
    from django.contrib.auth.models import Permission

    view = Permission.objects.get(content_type__app_label="employees", codename="view_employee")
    page = client.get(add)
    assert 'aria-label="Can view employee"' in page.content.decode()
    data = form_of(page) | {"name": "Clerk", "permissions": [str(view.pk)]}
    assert client.post(add, data).status_code == 302
    role = Role.objects.get(name="Clerk")
    person = make.make_user(site=site)
    members = reverse("admin:accounts_role_members", args=(role.pk,))
    assert client.post(members, {"users": [str(person.pk)], "change_reason": ""}).status_code == 200
    assert client.post(members, {"users": [str(person.pk)], "change_reason": "Joined"}).status_code == 302
    assert access.may(User.objects.get(pk=person.pk), site, "employees.view_employee")
    stranger = make.make_user(site=other_site)
    assert client.post(members, {"users": [str(stranger.pk)], "change_reason": "x"}).status_code == 200
    entry = role.memberships.get()
    assert client.post(members, {"remove": [str(entry.pk)], "change_reason": "Left"}).status_code == 302
    assert not role.memberships.exists()
    assert client.post(members, {"remove": ["x" * 36], "change_reason": "Left"}).status_code == 200
    circle = client.post(members, {"roles": [str(role.pk)], "change_reason": "x"})
    assert circle.status_code == 200
    default = Role.objects.get(site=site, default_role=DefaultRole.READER)
    assert client.post(address(default), {"name": "x"}).status_code == 403
    assert "Yes" in client.get(address(default)).content.decode()
    assert browser(site).get(list_address(Role)).status_code == 403


def test_the_list_of_users_tells_people_from_integrations_and_who_has_access(site: Site) -> None:
    make.make_user("robot", site=site, is_service_account=True)
    make.make_user("leaver", site=site, is_active=False)
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    page = client.get(f"{list_address(User)}?active=all").content.decode()
    assert '<td class="field-kind">Service account</td>' in page
    assert page.count('<td class="field-may_sign_in">Yes</td>') == 2
    assert page.count('<span class="tag">Ended</span>') == 1


def test_every_link_of_every_lists_filters_leads_somewhere(site: Site) -> None:
    client = sign_in(root(), site)
    tried = set()
    for model, model_admin in admin.site._registry.items():
        if {*model_admin.list_filter} <= {ArchivedFilter} and model is not Product:
            continue
        page: Any = client.get(list_address(model))
        filters = page.context["cl"].filter_specs if "cl" in page.context else []
        for shown in filters:
            if model is Product or type(shown) is not ArchivedFilter:
                tried.add(type(shown).__name__)
                for choice in shown.choices(page.context["cl"]):
                    where = list_address(model) + choice["query_string"]
                    assert client.get(where).status_code == 200, where
    assert {"ArchivedFilter", "OutcomeFilter", "DueFilter", "ActiveFilter"} <= tried


def test_whoever_joins_leaves_or_sees_a_role_renamed_or_archived_has_changed_for_directories(site: Site) -> None:
    client, person = browser(site, DefaultRole.SITE_ADMINISTRATOR), make.make_user(site=site)
    role = make.make_role(site, ["items.view_item"], name="Clerk")
    members = reverse("admin:accounts_role_members", args=(role.pk,))

    def revision() -> int:
        return User.objects.get(pk=person.pk).revision

    seen = [revision()]
    client.post(members, {"users": [str(person.pk)], "change_reason": "Joined"})
    seen.append(revision())
    save(client, role, name="Head clerk", change_reason="Promoted")
    seen.append(revision())
    for step in ("archive", "restore"):
        client.post(reverse("admin:accounts_role_step", args=(role.pk, step)), {"change_reason": "Tidied"})
        seen.append(revision())
    client.post(members, {"remove": [str(role.memberships.get().pk)], "change_reason": "Left"})
    seen.append(revision())
    assert seen == [seen[0] + step for step in range(6)]


def test_malformed_numbers_and_ids_in_addresses_and_forms_are_no_faults_of_ours(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    for number in ("\u00b2", "9" * 5000, "x"):
        call = reverse("admin:scim_provisioningcall_change", args=(number,))
        assert client.get(call).status_code == 404
        add = reverse("admin:accounts_role_add")
        page = client.post(add, {**form_of(client.get(add)), "name": "Clerk", "permissions": [number]})
        assert page.status_code == 200
        assert client.get(add.replace("add", "1"), {"p": number}).status_code in (302, 404)
    employees = ContentType.objects.get_for_model(Employee).pk
    assert client.get(f"/admin/r/{employees}/x/").status_code == 404


def test_an_archived_employees_account_gets_neither_access_nor_keys(site: Site) -> None:
    employee = make.make_employee(site)
    user = give_account(site.pk, employee.pk, "left", role=DefaultRole.READER, author=make.SYSTEM, reason="Signs")
    archive_employee(site.pk, employee.pk, archived=True, author=make.SYSTEM, reason="Left")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    page = client.post(reverse("admin:accounts_user_step", args=(user.pk, "give-access")), {"change_reason": "Back"})
    assert "The employee is archived; restore it first." in page.content.decode()
    assert not User.objects.get(pk=user.pk).is_active
    with pytest.raises(ValidationError, match="no access"):
        issue_key(user, site, "ERP", author=make.SYSTEM)
    with pytest.raises(ValidationError, match="no access"):
        issue_client(user, "ERP", author=make.SYSTEM)
