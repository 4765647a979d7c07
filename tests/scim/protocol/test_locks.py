"""Directories, interface and back-office that work on the same people and groups at once: all wait, none is refused."""

import threading
import time
from typing import Any

import pytest
from django.db import connection, transaction
from django.urls import reverse

from records.accounts.actions import set_members, update_role
from records.accounts.models import DefaultRole, Dialect, Role, RoleMembership, User
from records.employees.actions import give_account
from records.employees.models import Employee
from records.history.models import Change
from tests import make
from tests.conftest import Api
from tests.make.backoffice import press, sign_in
from tests.make.chains import broken_links
from tests.scim.conftest import Scim
from tests.scim.people import make_directory, make_token, replace, user_body

TURNS = 6
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
BULK = "urn:ietf:params:scim:api:messages:2.0:BulkRequest"


def members(*keys: str, op: str = "add") -> dict[str, Any]:
    """Return the operation that adds or removes members."""
    return {"op": op, "path": "members", "value": [{"value": key} for key in keys]}


@pytest.mark.django_db(transaction=True)
def test_people_and_groups_are_changed_at_once_through_every_door(settings: Any) -> None:
    settings.DIRECTORY_BRAKE_PEOPLE = 1_000
    site = make.make_site()
    key = make.make_key(site)
    secret = make_token(make_directory(site))
    scim = Scim(secret)
    people = [scim.post("/Users", user_body(f"p{number}@corp.local")).json()["id"] for number in range(4)]
    groups = [scim.post("/Groups", {"displayName": f"Line {number}", "members": []}).json()["id"] for number in "12"]

    def turns(act: Any) -> Any:
        return lambda: {act(Scim(secret), turn).status_code for turn in range(TURNS)}

    acts = [
        turns(lambda scim, turn: scim.patch(f"/Users/{people[0]}", replace("active", turn % 2 == 1))),
        turns(lambda scim, turn: scim.patch(f"/Users/{people[1]}", replace("name.familyName", f"Novak {turn}"))),
        turns(
            lambda scim, turn: scim.patch(f"/Groups/{groups[0]}", members(*people[:3], op=("add", "remove")[turn % 2]))
        ),
        turns(
            lambda scim, turn: scim.patch(
                f"/Groups/{groups[0]}", members(*people[2::-1], op=("remove", "add")[turn % 2])
            )
        ),
        turns(lambda scim, turn: scim.put(f"/Groups/{groups[1]}", {"members": [{"value": people[turn % 3]}]})),
        turns(
            lambda scim, turn: scim.patch(
                f"/Groups/{groups[turn % 2]}", replace("displayName", f"L{turn}{groups[turn % 2]}")
            )
        ),
        lambda: {
            Api(key).put(f"/employee/UpdateEmployee/{people[1]}", make.employee_body(Phone=str(turn))).status_code
            for turn in range(TURNS)
        },
        lambda: {Api(key).post("/employee/AddEmployee", make.employee_body()).status_code for _ in range(TURNS)},
        lambda: {Scim(secret).delete(f"/Users/{people[3]}").status_code},
    ]
    answers = make.at_once(*acts)
    assert answers == [{200}] * 8 + [{204}]
    assert not list(broken_links(site.pk))
    assert not RoleMembership.objects.filter(user_id=people[3]).exists()


@pytest.mark.django_db(transaction=True)
def test_people_are_switched_off_while_a_group_that_is_answered_with_nothing_loses_them(settings: Any) -> None:
    settings.DIRECTORY_BRAKE_PEOPLE = 1_000
    secret = make_token(make_directory(make.make_site()), Dialect.ENTRA)
    scim = Scim(secret)
    people = [scim.post("/Users", user_body(f"p{number}@corp.local")).json()["id"] for number in range(3)]
    group = scim.post("/Groups", {"displayName": "Line"}).json()["id"]

    def enrol() -> set[int]:
        operations = [members(*people, op=("add", "remove")[turn % 2]) for turn in range(TURNS * 3)]
        return {Scim(secret).patch(f"/Groups/{group}", one).status_code for one in operations}

    def switch(key: str) -> Any:
        operations = [{"op": "replace", "path": "active", "value": turn % 2 == 1} for turn in range(TURNS * 3)]
        return lambda: {Scim(secret).patch(f"/Users/{key}", one).status_code for one in operations}

    assert make.at_once(enrol, *map(switch, people)) == [{204}, {200}, {200}, {200}]


def wait_until_another_waits(is_done: threading.Event) -> None:
    """Return when another transaction waits for a lock of this one, or has done what it does; at the latest in 30 s."""
    end = time.monotonic() + 30
    while not is_done.wait(0.01) and time.monotonic() < end:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))")
            if cursor.fetchone():
                return


ON_POSTGRESQL = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has only one writer at a time.")


@ON_POSTGRESQL
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("op", "is_nested"), [("remove", False), ("add", False), ("add", True)])
def test_a_group_that_is_renamed_while_its_members_change_locks_all_in_order(op: str, is_nested: bool) -> None:
    secret = make_token(make_directory(make.make_site()))
    scim = Scim(secret)
    first, last = sorted(scim.post("/Users", user_body(f"p{number}@corp.local")).json()["id"] for number in range(2))
    group = scim.post("/Groups", {"displayName": "Line", "members": [{"value": last}]}).json()["id"]
    inner = {"displayName": "Inner", "members": [{"value": first}]}
    member = scim.post("/Groups", inner).json()["id"] if is_nested else first
    is_held, is_done = threading.Event(), threading.Event()

    def hold() -> bool:
        with transaction.atomic():
            User.objects.select_for_update().get(pk=first)
            is_held.set()
            wait_until_another_waits(is_done)
            return User.objects.select_for_update(nowait=True).get(pk=last).is_active

    def change() -> int:
        is_held.wait(30)
        rename = {"op": "replace", "path": "displayName", "value": "Row"}
        try:
            return int(Scim(secret).patch(f"/Groups/{group}", rename, members(member, op=op)).status_code)
        finally:
            is_done.set()

    assert make.at_once(hold, change) == [True, 200]


@ON_POSTGRESQL
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("in_bulk", "dry_run"), [(False, False), (True, False), (True, True)])
def test_a_request_that_loses_a_deadlock_begins_again(in_bulk: bool, dry_run: bool) -> None:
    directory = make_directory(make.make_site())
    scim, caller = Scim(make_token(directory)), Scim(make_token(directory, dry_run=dry_run))
    first, last = (scim.post("/Users", user_body(f"p{number}@corp.local")).json()["id"] for number in range(2))
    groups = [scim.post("/Groups", {"displayName": f"Line {number}"}).json()["id"] for number in range(2)]
    is_held, is_done = threading.Event(), threading.Event()
    count = Change.objects.count()

    def hold() -> bool:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL deadlock_timeout = '60s'")  # So the other transaction finds the deadlock.
            User.objects.select_for_update().get(pk=last)
            is_held.set()
            wait_until_another_waits(is_done)
            return len(Role.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=groups)) == 2

    def change() -> list[str]:
        is_held.wait(30)
        body = {"schemas": [PATCH], "Operations": [members(last)]}
        calls: list[dict[str, Any]] = [
            {"method": "PATCH", "path": f"/Groups/{groups[0]}", "data": {**body, "Operations": [members(first)]}},
            {"method": "PATCH", "path": f"/Groups/{groups[1]}", "data": body},
        ]
        try:
            if not in_bulk:
                return [str(caller.send("PATCH", call["path"], call["data"]).status_code) for call in calls]
            answer = caller.post("/Bulk", {"schemas": [BULK], "Operations": calls}).json()
            return [result["status"] for result in answer["Operations"]]
        finally:
            is_done.set()

    assert make.at_once(hold, change) == [True, ["200", "200"]]
    assert Change.objects.count() - count == RoleMembership.objects.count() == (0 if dry_run else 2)


def _rename(role: Role) -> None:
    update_role(role, name="Row", author=make.SYSTEM, reason="Clearer")


def _archive(role: Role) -> None:
    administrator = make.make_user(site=role.site, role=DefaultRole.SITE_ADMINISTRATOR)
    step = reverse("admin:accounts_role_step", args=(role.pk, "archive"))
    assert press(sign_in(administrator, role.site), step, {"change_reason": "Gone"}).status_code == 302


def _show_again(role: Role) -> None:
    directory = make_directory(role.site)
    Role.objects.filter(pk=role.pk).update(directory=directory, hidden_from_directory=True)
    answer = Scim(make_token(directory)).post("/Groups", {"displayName": role.name})
    assert (answer.status_code, answer.json()["id"]) == (201, str(role.pk))


@ON_POSTGRESQL
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", [_rename, _archive, _show_again])
def test_the_roles_that_show_a_changed_role_are_locked_in_order_by_every_door(change: Any) -> None:
    site = make.make_site()
    outer, inner = sorted((make.make_role(site, []) for _ in range(2)), key=lambda role: role.pk)
    set_members(outer, add=[inner], author=make.SYSTEM)
    is_held, is_done = threading.Event(), threading.Event()

    def hold() -> bool:
        with transaction.atomic():
            Role.objects.select_for_update(no_key=True).get(pk=outer.pk)
            is_held.set()
            wait_until_another_waits(is_done)
            return not is_done.is_set() and bool(Role.objects.select_for_update(nowait=True).get(pk=inner.pk))

    def act() -> None:
        is_held.wait(30)
        try:
            change(inner)
        finally:
            is_done.set()

    assert make.at_once(hold, act) == [True, None]


@ON_POSTGRESQL
@pytest.mark.django_db(transaction=True)
def test_a_dry_run_that_needs_a_lock_gives_up_its_own() -> None:
    directory = make_directory(make.make_site())
    scim, dry = Scim(make_token(directory)), Scim(make_token(directory, dry_run=True))
    person = scim.post("/Users", user_body("p@corp.local")).json()["id"]
    group = scim.post("/Groups", {"displayName": "Line"}).json()["id"]
    calls = [
        {"method": "PATCH", "path": f"/Groups/{group}", "data": {"schemas": [PATCH], "Operations": [operation]}}
        for operation in ({"op": "replace", "path": "displayName", "value": "Row"}, members(person))
    ]
    body = {"schemas": [BULK], "Operations": calls}

    is_held, is_done = threading.Event(), threading.Event()

    def hold() -> bool:
        with transaction.atomic():
            User.objects.select_for_update().get(pk=person)
            is_held.set()
            return is_done.wait(30) and Role.objects.select_for_update(nowait=True).get(pk=group).name == "Line"

    def call() -> int:
        is_held.wait(30)
        try:
            return int(dry.post("/Bulk", body).status_code)
        finally:
            is_done.set()

    assert make.at_once(hold, call) == [True, 503]
    assert call() == 200


@ON_POSTGRESQL
@pytest.mark.django_db(transaction=True)
def test_a_write_of_the_interface_that_loses_a_deadlock_begins_again() -> None:
    site = make.make_site()
    employee, key = make.make_employee(site), make.make_key(site)
    user = give_account(site.pk, employee.pk, "baker", author=make.SYSTEM, reason="New")
    is_held, is_done = threading.Event(), threading.Event()

    def hold() -> bool:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL deadlock_timeout = '60s'")  # So the other transaction finds the deadlock.
            User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk)
            is_held.set()
            wait_until_another_waits(is_done)
            rows = Employee.objects.select_for_update(of=("self",), no_key=True)
            return not is_done.is_set() and bool(rows.get(pk=employee.pk))

    def change() -> int:
        is_held.wait(30)
        try:
            body = make.employee_body(Phone="0900 5551234")
            return int(Api(key).put(f"/employee/UpdateEmployee/{employee.pk}", body).status_code)
        finally:
            is_done.set()

    assert make.at_once(hold, change) == [True, 200]


@pytest.mark.django_db(transaction=True)
def test_people_are_deleted_while_their_groups_change() -> None:
    site = make.make_site()
    secret = make_token(make_directory(site))
    scim = Scim(secret)
    people = [scim.post("/Users", user_body(f"p{number}@corp.local")).json()["id"] for number in range(9)]
    everybody = [{"value": key} for key in people]
    groups = [
        scim.post("/Groups", {"displayName": f"Line {number}", "members": everybody}).json()["id"] for number in "123"
    ]

    def enrol(group: str) -> Any:
        stays = people[6:]
        return lambda: {
            Scim(secret)
            .patch(f"/Groups/{group}", members(*(stays if turn % 2 else stays[::-1]), op=("remove", "add")[turn % 2]))
            .status_code
            for turn in range(TURNS * 2)
        }

    def rename(group: str) -> Any:
        return lambda: {
            Scim(secret).put(f"/Groups/{group}", {"displayName": f"{group} {turn}"}).status_code
            for turn in range(TURNS)
        }

    def remove(keys: list[str]) -> Any:
        return lambda: {Scim(secret).delete(f"/Users/{key}").status_code for key in keys}

    acts = [*map(enrol, groups), *map(rename, groups), remove(people[:3]), remove(people[3:6])]
    assert make.at_once(*acts) == [{200}] * 6 + [{204}] * 2
    assert not RoleMembership.objects.filter(user_id__in=people[:6]).exists()


@pytest.mark.django_db(transaction=True)
def test_groups_that_are_put_into_each_other_at_once_close_no_circle() -> None:
    site = make.make_site()
    secret = make_token(make_directory(site))
    scim = Scim(secret)
    for turn in range(TURNS):
        first, second = (scim.post("/Groups", {"displayName": f"{name} {turn}"}).json()["id"] for name in "ab")

        def put(outer: str, inner: str) -> Any:
            return lambda: Scim(secret).put(f"/Groups/{outer}", {"members": [{"value": inner}]}).status_code

        assert sorted(make.at_once(put(first, second), put(second, first))) == [200, 400]


@pytest.mark.django_db(transaction=True)
def test_of_two_writers_who_have_read_the_same_version_one_writes(settings: Any) -> None:
    settings.DIRECTORY_BRAKE_PEOPLE = 1_000
    secret = make_token(make_directory(make.make_site()))
    scim = Scim(secret)
    for kind, body, change in (
        ("/Users", user_body("mira"), {"op": "replace", "path": "title", "value": "Lead"}),
        ("/Groups", {"displayName": "Team"}, {"op": "replace", "path": "displayName", "value": "Crew"}),
    ):
        for _ in range(TURNS):
            document = scim.post(kind, body).json()
            path, version = f"{kind}/{document['id']}", document["meta"]["version"]

            def put(name: str, path: str = path, document: Any = document, version: str = version) -> Any:
                return lambda: Scim(secret).put(path, {**document, "displayName": name}, If_Match=version).status_code

            assert sorted(make.at_once(put("A"), put("B"))) == [200, 412]
            version = scim.get(path)["ETag"]

            def patch(path: str = path, change: Any = change, version: str = version) -> int:
                return int(Scim(secret).patch(path, change, If_Match=version).status_code)

            def delete(path: str = path, version: str = version) -> int:
                return int(Scim(secret).delete(path, If_Match=version).status_code)

            assert sorted(make.at_once(patch, delete)) in ([200, 412], [204, 404])
            assert scim.delete(path).status_code in (204, 404)
            assert scim.get(path).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_resource_is_deleted_while_it_is_changed(settings: Any) -> None:
    settings.DIRECTORY_BRAKE_PEOPLE = 1_000
    site = make.make_site()
    secret = make_token(make_directory(site))
    scim = Scim(secret)
    other = scim.post("/Users", user_body("other")).json()["id"]
    for _ in range(TURNS):
        user = scim.post("/Users", user_body("mira", externalId="1")).json()["id"]
        group = scim.post("/Groups", {"displayName": "Team", "members": [{"value": user}]}).json()["id"]

        def joins(user: str = user, group: str = group) -> int:
            return int(Scim(secret).patch(f"/Groups/{group}", members(other, user)).status_code)

        def renames(user: str = user) -> int:
            change = {"op": "replace", "path": "name.familyName", "value": "Kovac"}
            return int(Scim(secret).patch(f"/Users/{user}", change).status_code)

        def goes(path: str) -> Any:
            return lambda: Scim(secret).delete(path).status_code

        answers = make.at_once(joins, renames, goes(f"/Users/{user}"), goes(f"/Groups/{group}"))
        # A member who is gone already is refused by name, and a group that is gone is not found.
        assert answers[0] in (200, 400, 404)
        assert answers[1] in (200, 404)
        assert answers[2:] == [204, 204]
        assert not RoleMembership.objects.filter(user_id=user).exists()
        assert scim.get(f"/Users/{user}").status_code == scim.get(f"/Groups/{group}").status_code == 404
    assert not list(broken_links(site.pk))
