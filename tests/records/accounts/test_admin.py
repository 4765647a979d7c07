"""The pages of accounts and roles."""

import functools
import threading
from contextlib import suppress
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts import access
from records.accounts.actions import add_user, members_of, set_members
from records.accounts.clients import issue_client
from records.accounts.keys import issue_key
from records.accounts.models import DefaultRole, Role, User
from records.employees.actions import archive_employee, give_account
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.make.backoffice import address, browser, form_of, list_address, press, save


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
    response = client.post(add, data | {"user_name": "NOOR"})
    assert response.status_code == 200
    assert press(client, reverse("admin:accounts_user_step", args=(user.pk, "end-access")), {"change_reason": "Left"})
    assert not User.objects.get(pk=user.pk).is_active
    press(client, reverse("admin:accounts_user_step", args=(user.pk, "give-access")), {"change_reason": "Back"})
    assert User.objects.get(pk=user.pk).is_active


@pytest.mark.django_db(transaction=True)
def test_two_who_give_one_name_at_once_are_told_as_if_one_came_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both look before either has written, so that only the database's constraint can tell."""
    site, both_have_looked, full_clean = make.make_site(), threading.Barrier(2), User.full_clean

    def check_and_wait(self: User, *args: Any, **kwargs: Any) -> None:
        full_clean(self, *args, **kwargs)
        with suppress(threading.BrokenBarrierError):
            both_have_looked.wait(1)

    monkeypatch.setattr(User, "full_clean", check_and_wait)
    add = functools.partial(add_user, author=make.SYSTEM)
    answers = make.at_once(*(lambda name=name: add(User(user_name=name, home_site=site)) for name in ("Noor", "NOOR")))
    errors = [one for one in answers if isinstance(one, ValidationError)]
    assert len(errors) == 1, answers
    assert "Another account has this user name." in str(errors[0])


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
    ovens, bakery, shop = (make.make_role(site, [], name=name) for name in ("Ovens", "Bakery", "Shop"))
    set_members(ovens, add=[role], author=make.SYSTEM)
    set_members(bakery, add=[ovens], author=make.SYSTEM)
    circle = client.post(members, {"roles": [str(bakery.pk), str(shop.pk)], "change_reason": "x"})
    assert "Bakery cannot be a member of Clerk, because Clerk is already a member of Bakery" in circle.text
    default = Role.objects.get(site=site, default_role=DefaultRole.READER)
    assert client.post(address(default), {"name": "x"}).status_code == 403
    assert "Yes" in client.get(address(default)).content.decode()
    assert browser(site).get(list_address(Role)).status_code == 403


def test_who_joins_and_leaves_is_told_and_the_members_are_read_once(site: Site) -> None:
    stays, leaves, joins = sorted((make.make_user(site=site) for _ in range(3)), key=lambda user: str(user.pk))
    role = make.make_role(site, [], [stays, leaves])
    with CaptureQueriesContext(connection) as queries:
        set_members(role, add=[joins, stays], remove=[leaves], author=make.SYSTEM)
    reads = [one["sql"] for one in queries if one["sql"].startswith("SELECT") and "display_name" in one["sql"]]
    assert len([sql for sql in reads if 'FROM "accounts_rolemembership"' in sql]) == 1
    [entry] = Change.objects.filter(record_id=role.pk).latest("number").fields
    before, after = (
        [{"id": str(one.pk), "name": str(one)} for one in some] for some in ([stays, leaves], [stays, joins])
    )
    assert entry == {"field": "members", "old": before, "new": after}
    assert [entry["id"] for entry in members_of(role)] == [entry["id"] for entry in after]
    count = Change.objects.count()
    set_members(role, add=[joins], remove=[leaves], author=make.SYSTEM)
    assert Change.objects.count() == count


def test_the_list_of_users_tells_people_from_integrations_and_who_has_access(site: Site) -> None:
    make.make_user("robot", site=site, is_service_account=True)
    make.make_user("leaver", site=site, is_active=False)
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    page = client.get(f"{list_address(User)}?active=all").content.decode()
    assert '<td class="field-kind">Service account</td>' in page
    assert page.count('<td class="field-may_sign_in">Yes</td>') == 2
    assert page.count('<span class="tag">Ended</span>') == 1


@pytest.mark.parametrize(
    ("role", "sees"),
    [
        (DefaultRole.READER, False),
        (DefaultRole.STANDARD, False),
        (DefaultRole.MANAGER, True),
        (DefaultRole.SITE_ADMINISTRATOR, True),
    ],
)
def test_how_somebody_is_reached_and_signs_in_is_shown_to_managers_and_above(
    site: Site, other_site: Site, role: DefaultRole, sees: bool
) -> None:
    person = make.make_user("mira", site=site, role=DefaultRole.STANDARD, email="mira@corp.example", is_superuser=True)
    User.objects.filter(pk=person.pk).update(recovery_address="mira@home.example", last_login="2026-03-04T05:06Z")
    make.give_role(person, other_site, DefaultRole.MANAGER)
    client, users = browser(site, role), list_address(User)
    page = client.get(address(person, "read"))
    assert page.status_code == 200
    for detail in ("mira@corp.example", "mira@home.example", "2026-03-04"):
        assert (detail in page.text) == sees, detail
    assert f"{site}: Standard; further roles at other sites" in page.text
    assert str(other_site) not in page.text
    assert ("mira@corp.example" in client.get(users).text) == sees
    assert (str(person.pk) in client.get(users, {"q": "corp.example"}).text) == sees
    for query in ({"is_superuser__exact": "1"}, {"last_login__isnull": "False"}):
        assert client.get(users, query).status_code == (200 if sees else 400), query


@pytest.mark.parametrize(("role", "sees"), [(DefaultRole.STANDARD, False), (DefaultRole.MANAGER, True)])
def test_a_page_shows_of_somebody_from_another_site_what_the_list_shows(
    site: Site, other_site: Site, role: DefaultRole, sees: bool
) -> None:
    person = make.make_user("mira", site=other_site, role=DefaultRole.MANAGER, email="mira@corp.example")
    make.give_role(person, site, DefaultRole.READER)
    client = browser(site, role)
    page, rows = client.get(address(person, "read")), client.get(list_address(User))
    assert page.status_code == 200
    assert str(person.pk) in rows.text
    assert ("mira@corp.example" in page.text) == ("mira@corp.example" in rows.text) == sees


def test_whoever_joins_leaves_or_sees_a_role_renamed_or_archived_has_changed_for_directories(site: Site) -> None:
    client, person = browser(site, DefaultRole.SITE_ADMINISTRATOR), make.make_user(site=site)
    role = make.make_role(site, ["items.view_item"], name="Clerk")
    members = reverse("admin:accounts_role_members", args=(role.pk,))

    def revision() -> int:
        return User.objects.get(pk=person.pk).revision

    revisions = [revision()]
    client.post(members, {"users": [str(person.pk)], "change_reason": "Joined"})
    revisions.append(revision())
    save(client, role, name="Head clerk", change_reason="Promoted")
    revisions.append(revision())
    for step in ("archive", "restore"):
        press(client, reverse("admin:accounts_role_step", args=(role.pk, step)), {"change_reason": "Tidied"})
        revisions.append(revision())
    client.post(members, {"remove": [str(role.memberships.get().pk)], "change_reason": "Left"})
    revisions.append(revision())
    assert revisions == [revisions[0] + step for step in range(6)]


def test_an_archived_employees_account_gets_neither_access_nor_keys(site: Site) -> None:
    employee = make.make_employee(site)
    user = give_account(site.pk, employee.pk, "left", role=DefaultRole.READER, author=make.SYSTEM, reason="Signs")
    archive_employee(site.pk, employee.pk, archived=True, author=make.SYSTEM, reason="Left")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    page = press(client, reverse("admin:accounts_user_step", args=(user.pk, "give-access")), {"change_reason": "Back"})
    assert "The employee is archived; restore it first." in page.content.decode()
    assert not User.objects.get(pk=user.pk).is_active
    with pytest.raises(ValidationError, match="no access"):
        issue_key(user, site, "ERP", author=make.SYSTEM)
    with pytest.raises(ValidationError, match="no access"):
        issue_client(user, "ERP", author=make.SYSTEM)
