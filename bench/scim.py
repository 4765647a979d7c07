"""Provisioning in this process: 50,000 users, 1,000 groups and one group of 10,000, against the same work in SQL."""
# ruff: noqa: S608 (no outside text)

import itertools
import json
import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

from django.db import transaction

from bench.harness import Table, compare, timer
from bench.rows import call, copy, migrate, sql
from records.accounts import actions, directories
from records.accounts.models import (
    Dialect,
    ExternalId,
    Role,
    RoleMembership,
    SecurityEvent,
    SecurityKind,
    User,
    UserEmail,
)
from records.accounts.roles_held import touching
from records.history.sets import ids, ids_parameter, ids_sql, insertion
from records.history.statements import together
from records.history.trail import Author, Channel, now
from records.sites.models import Site
from tests import make

USERS, GROUPS, LARGE = 50_000, 1_000, 10_000
PREPARED_AFTER = 24
"""After so many writes of a connection, PostgreSQL keeps the plans of both kinds, which take turns."""
AUTHOR = Author(None, "Bench", Channel.SYSTEM)


def measure(table: Table) -> None:
    """Measure every kind of request."""
    caller, large, small = fill()
    people = list(User.objects.filter(directory__isnull=False).order_by("pk").values_list("pk", "user_name"))
    site_id = large.site_id
    reads(table, caller, site_id, people)
    members = (
        "SELECT m.user_id, m.display, u.user_name, u.given_name, u.family_name, u.display_name "
        "FROM accounts_rolemembership m JOIN accounts_user u ON u.id = m.user_id JOIN employees_employee e "
        "ON e.user_id = u.id WHERE m.role_id = %s AND u.home_site_id = %s AND u.removed IS NULL "
        "AND NOT u.is_service_account ORDER BY m.created, m.id"
    )
    read = timer(lambda _: caller.send("GET", f"/Groups/{large.pk}"), 3)
    bare = timer(lambda _: sql(members, large.pk, site_id), 3)
    table.times(f"SCIM group of {LARGE:,} members", compare(read, bare), "SQL", "≤ 4")
    member = people[-1][0]
    steady = partial(timer, first=PREPARED_AFTER)
    one = compare(steady(in_turn(caller, large, member)), steady(lambda turn: one_row(large, member, turn)))
    table.times(f"SCIM PATCH of one member of {LARGE:,}", one, "one-row SQL", "≤ 6")
    flat = compare(steady(in_turn(caller, large, member)), steady(in_turn(caller, small, member)))
    table.times(f"SCIM PATCH of one member of {LARGE:,}", flat, "of 20", "≤ 1.3")
    keys = [key for key, _ in people[: LARGE * 3 // 2]]
    member_lists = itertools.cycle((keys[:LARGE], keys[LARGE // 2 :]))
    put = compare(
        timer(lambda _: replace(caller, large, next(member_lists)), 1),
        timer(lambda _: set_members(large, next(member_lists)), 1),
    )
    table.times(f"SCIM PUT of {LARGE:,} members, half of them new", put, "SQL of the same rows", "≤ 4")
    removals(table, caller, large, keys[:1000])


def fill() -> tuple["Caller", Role, Role]:
    """Store users, groups and members, and return the caller, the large role and a small one."""
    migrate()
    site = actions.add_site(Site(name="Bench"), author=AUTHOR)
    directory = directories.add_directory("Bench", site, author=AUTHOR)
    person, key = uuid.uuid4(), "md5('user' || n)::uuid"
    user = User(id=person, user_name="person0", user_name_key="person0", home_site=site, directory=directory)
    user.set_unusable_password()
    user.save(force_insert=True)
    employee = make.make_employee(site, id=person)
    type(employee)._default_manager.filter(pk=person).update(user_id=person)
    employee.refresh_from_db()
    email = UserEmail.objects.create(user=user, value="person0@corp.local", type="work", primary=True)
    external = ExternalId.objects.create(directory=directory, user=user, value="ext0")
    role = Role.objects.create(site=site, name="Group 0", name_key="group 0", directory=directory)
    name = "'person' || n || '@corp.local'"
    given_name, family = "'Given' || n % 977", "'Family' || n % 1999"
    copy(user, USERS, id=key, user_name=name, user_name_key=name, given_name=given_name, family_name=family, email=name)
    copy(employee, USERS, 2, id=_shift(key), user_id=_shift(key), site_sequence_id="n", email_address="''")
    copy(email, USERS, id="gen_random_uuid()", user_id=key, value=name, value_key=name)
    number = "nextval(pg_get_serial_sequence('accounts_externalid', 'id'))"
    copy(external, USERS, id=number, user_id=key, value="'ext' || n")
    copy(role, GROUPS, id="md5('role' || n)::uuid", name="'Group ' || n", name_key="'group ' || n")
    membership = RoleMembership.objects.create(role=role, user=user, directory=directory)
    copy(membership, LARGE, id="gen_random_uuid()", role_id="md5('role1')::uuid", user_id=key)
    in_group, person_of_n = "md5('role' || n / 20)::uuid", f"md5('user' || 1 + n * 7 % {USERS})::uuid"
    copy(membership, (GROUPS - 1) * 20, 40, id="gen_random_uuid()", role_id=in_group, user_id=person_of_n)
    for model in (User, type(employee), UserEmail, ExternalId, Role, RoleMembership):
        sql(f"VACUUM ANALYZE {model._meta.db_table}")
    secret = directories.issue_token(directory, "Bench", author=AUTHOR, dialect=Dialect.ENTRA)[1]
    large, small = (Role.objects.get(name=f"Group {number}") for number in (1, 2))
    return Caller(secret), large, small


def _shift(key: str) -> str:
    """Return the key of the person before: employees are numbered from 2 on, after the first."""
    return key.replace("n)", "n - 1)")


class Caller:
    """Sends requests with the token to the application, in this process, as the server does."""

    def __init__(self, secret: str) -> None:
        self.authorization = f"Bearer {secret}"

    def send(self, method: str, path: str, body: Any = None) -> None:
        """Send a request and check that it went well."""
        call(method, f"/scim{path}", {"Authorization": self.authorization}, body, "application/scim+json")

    def members(self, role: Role, *operations: tuple[str, Any]) -> None:
        """Send a PATCH of the role's members: operations with their values, or for a text value with that path."""
        bodies = [
            {"op": op, "path": value} if isinstance(value, str) else {"op": op, "path": "members", "value": value}
            for op, value in operations
        ]
        self.send("PATCH", f"/Groups/{role.pk}", {"Operations": bodies})


def entries(keys: list[uuid.UUID]) -> list[dict[str, str]]:
    """Return members as a body names them."""
    return [{"value": str(key)} for key in keys]


def reads(table: Table, caller: Caller, site_id: uuid.UUID, people: list[tuple[uuid.UUID, str]]) -> None:
    """Measure the page of users, and one user by id and by name."""
    source = (
        "FROM accounts_user u JOIN employees_employee e ON e.user_id = u.id WHERE u.home_site_id = %s "
        "AND u.removed IS NULL AND NOT u.is_service_account"
    )

    def rows(where: str, *parameters: Any) -> None:
        users = sql(f"SELECT u.*, e.position, e.code {source} {where}", site_id, *parameters)
        keys = [row[0] for row in users if isinstance(row[0], uuid.UUID)] or [people[0][0]]
        sql(
            f'SELECT user_id, value, type, display, "primary" FROM accounts_useremail WHERE user_id IN ({ids_sql()})',
            ids_parameter(keys),
        )
        sql(f"SELECT user_id, value FROM accounts_externalid WHERE user_id IN ({ids_sql()})", ids_parameter(keys))
        sql(
            "SELECT m.user_id, r.id, r.name FROM accounts_rolemembership m JOIN accounts_role r ON r.id = m.role_id "
            f"WHERE m.user_id IN ({ids_sql()})",
            ids_parameter(keys),
        )

    def page(_: int) -> None:
        sql(f"SELECT COUNT(*) {source}", site_id)
        rows("ORDER BY u.id LIMIT 100")

    def django_read(turn: int) -> None:
        user = User.objects.select_related("employee").get(pk=people[turn][0])
        json.dumps([user.user_name, *user.emails.values_list("value", flat=True)])

    list_request = timer(lambda _: caller.send("GET", "/Users?count=100"))
    table.times(f"SCIM page of 100 of {USERS:,} users", compare(list_request, timer(page)), "SQL", "≤ 2.5")
    by_id = timer(lambda turn: caller.send("GET", f"/Users/{people[turn][0]}"), 20)
    table.times("SCIM user by id", compare(by_id, timer(django_read, 20)), "plain Django read", "≤ 1.3")

    def by_name(turn: int) -> None:
        expression = quote(f'userName eq "{people[turn][1]}"')
        caller.send("GET", f"/Users?filter={expression}")

    by_user_name = timer(by_name, 20)
    table.times("SCIM user by userName", compare(by_user_name, timer(django_read, 20)), "plain Django read", "≤ 1.3")


def in_turn(caller: Caller, role: Role, member: uuid.UUID) -> Callable[[int], None]:
    """Return a function that adds the member and takes it away again, in turn."""
    caller.members(role, ("remove", entries([member])))
    return lambda turn: caller.members(role, ("remove" if turn % 2 else "add", entries([member])))


def one_row(role: Role, member: uuid.UUID, turn: int) -> None:
    """Store and delete a membership by a statement of one row, in turn."""
    if turn % 2:
        sql("DELETE FROM accounts_rolemembership WHERE role_id = %s AND user_id = %s", role.pk, member)
    else:
        sql(
            "INSERT INTO accounts_rolemembership (id, role_id, user_id, display, created) "
            "VALUES (%s, %s, %s, '', now()) ON CONFLICT DO NOTHING",
            uuid.uuid4(),
            role.pk,
            member,
        )


def replace(caller: Caller, role: Role, keys: list[uuid.UUID]) -> None:
    """Make these the members by a PUT."""
    caller.send("PUT", f"/Groups/{role.pk}?excludedAttributes=members", {"members": entries(keys)})


def set_members(role: Role, keys: list[uuid.UUID]) -> None:
    """Make these the members in a statement each: memberships, revisions of people, lines of the security log."""
    with transaction.atomic():
        present = set(RoleMembership.objects.filter(role=role).values_list("user_id", flat=True))
        former, new = present.difference(keys), [key for key in keys if key not in present]
        RoleMembership.objects.filter(role=role, user_id__in=ids(former)).delete()
        alike = {"role": role.pk, "created": now(), "display": ""}
        events = {"at": now(), "kind": SecurityKind.ROLE_GIVEN, "site": role.site_id, "detail": role.name}
        texts = dict.fromkeys(("address", "author_name", "channel", "request_id"), "")
        together(
            [
                insertion(RoleMembership, alike, ("id", "user"), [(uuid.uuid4(), key) for key in new]),
                touching([*former, *new]),
                insertion(
                    SecurityEvent,
                    events | texts,
                    ("account_id", "account_name"),
                    [(k, "") for k in (*former, *new)],
                ),
            ]
        )


def removals(table: Table, caller: Caller, role: Role, keys: list[uuid.UUID]) -> None:
    """Compare so many removals of one member each, in one PATCH, with one removal that lists them."""

    def act(*operations: tuple[str, Any]) -> float:
        caller.members(role, ("add", entries(keys)))
        start = time.perf_counter()
        caller.members(role, *operations)
        return (time.perf_counter() - start) * 1000

    each = [("remove", f'members[value eq "{key}"]') for key in keys]
    rounds = compare(lambda: act(*each), lambda: act(("remove", entries(keys))))
    table.times(f"SCIM {len(keys):,} x remove members[value eq …]", rounds, "one list", "≤ 3")
