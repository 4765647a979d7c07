"""Provisioning at scale: time and queries of each request with 50,000 users, 1,000 groups and one group of 10,000."""
# ruff: noqa: E402 (Django is set up before its models are imported)

import json
import os
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("SCIM_RATE_LIMIT", "10000000")
os.environ.setdefault("LOG_LEVEL", "error")

import django

django.setup()

from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench import scim_load
from bench.harness import serving
from records.accounts import actions, directories
from records.accounts.models import Dialect, ExternalId, Role, RoleMembership, User, UserEmail
from records.employees.models import Employee
from records.history.trail import Author, Channel
from records.reference.models import NatureOfEmployment
from records.sites.models import Entity, Site
from records.sites.sequences import take_numbers
from records.sites.text import fold

USERS = int(os.environ.get("BENCH_USERS", "50000"))
GROUPS = int(os.environ.get("BENCH_GROUPS", "1000"))
LARGE = min(10_000, USERS // 2)
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
AUTHOR = Author(None, "Bench", Channel.SYSTEM)
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"


def fill() -> tuple[str, Role, Role]:
    """Fill an empty database and return a token's secret, the large role and a small one."""
    call_command("migrate", verbosity=0)
    site = actions.add_site(Site(name="Bench"), author=AUTHOR)
    directory = directories.add_directory("Bench", site, author=AUTHOR)
    nature = NatureOfEmployment.objects.get(name="Employee")
    users = [
        User(
            id=uuid.uuid4(),
            user_name=f"person{number}@corp.local",
            user_name_key=f"person{number}@corp.local",
            given_name=f"Given{number % 977}",
            family_name=f"Family{number % 1999}",
            email=f"person{number}@corp.local",
            home_site=site,
            directory=directory,
            password="!",  # noqa: S106 (opens nothing)
        )
        for number in range(USERS)
    ]
    User.objects.bulk_create(users, batch_size=5000)
    Employee.objects.bulk_create(
        [
            Employee(
                id=user.pk,
                user_id=user.pk,
                site=site,
                site_sequence_id=number + 1,
                first_name=user.given_name,
                last_name=user.family_name,
                position="Operator",
                nature_of_employment=nature,
                email_address=user.email,
            )
            for number, user in enumerate(users)
        ],
        batch_size=5000,
    )
    with transaction.atomic():
        take_numbers(site.pk, Entity.EMPLOYEE, USERS)
    UserEmail.objects.bulk_create(
        [
            UserEmail(user=user, value=user.email, value_key=fold(user.email), type="work", primary=True)
            for user in users
        ],
        batch_size=5000,
    )
    ExternalId.objects.bulk_create(
        [ExternalId(directory=directory, user=user, value=f"ext{number}") for number, user in enumerate(users)],
        batch_size=5000,
    )
    roles = [
        Role(
            site=site,
            name=f"Group {number}",
            name_key=fold(f"Group {number}"),
            directory=directory,
            made_by_directory=True,
        )
        for number in range(GROUPS)
    ]
    Role.objects.bulk_create(roles)
    memberships = [RoleMembership(role=roles[0], user=user, directory=directory) for user in users[:LARGE]]
    for number, role in enumerate(roles[1:]):
        memberships += [
            RoleMembership(role=role, user=users[(number * 7 + step) % USERS], directory=directory)
            for step in range(20)
        ]
    RoleMembership.objects.bulk_create(memberships, batch_size=5000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return directories.issue_token(directory, "Bench", author=AUTHOR, dialect=Dialect.ENTRA)[1], roles[0], roles[1]


class Caller:
    """Sends requests with the token, in this process."""

    def __init__(self, secret: str) -> None:
        self.client = Client()
        self.headers = {"Authorization": f"Bearer {secret}", "Host": "127.0.0.1"}

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and check that it went well."""
        data = "" if body is None else json.dumps(body)
        answer = self.client.generic(method, f"/scim{path}", data, "application/scim+json", headers=self.headers)
        assert answer.status_code < 300, (method, path, answer.status_code, answer.content[:300])
        return answer


def measure(name: str, call: Callable[[int], Any], rounds: int = ROUNDS) -> None:
    """Print the median time and the number of queries of a request."""
    call(0)
    times = []
    for number in range(1, rounds + 1):
        started = time.perf_counter()
        call(number)
        times.append((time.perf_counter() - started) * 1000)
    with CaptureQueriesContext(connection) as queries:
        call(rounds + 1)
    print(f"{name:<52} {statistics.median(times):9.1f} ms {len(queries):4} queries", flush=True)


def add(key: str) -> dict[str, Any]:
    """Return a PATCH that adds one member."""
    return {"Operations": [{"op": "Add", "path": "members", "value": [{"value": key}]}]}


def remove(key: str) -> dict[str, Any]:
    """Return a PATCH that removes one member."""
    return {"Operations": [{"op": "remove", "path": f'members[value eq "{key}"]'}]}


def requests(caller: Caller, large: Role, small: Role) -> None:
    """Measure every kind of request."""
    people = list(User.objects.filter(directory__isnull=False).order_by("pk").values_list("pk", flat=True)[:2000])
    outside = list(
        User.objects.filter(directory__isnull=False).exclude(memberships__role=large).values_list("pk", flat=True)[:500]
    )
    send = caller.send

    def find(path: str, expression: str, rest: str = "") -> Any:
        return send("GET", f"{path}?filter={quote(expression)}{rest}")

    measure("list 100 users", lambda _: send("GET", "/Users?count=100"))
    measure("list 100 users from 40,001", lambda _: send("GET", f"/Users?count=100&startIndex={USERS * 4 // 5}"))
    measure("filter userName eq", lambda n: find("/Users", f'userName eq "PERSON{n}@corp.local"'))
    measure("filter externalId eq", lambda n: find("/Users", f'externalId eq "ext{n}"'))
    work = 'emails[type eq "work"].value eq "person7@corp.local"'
    measure("filter emails[type eq work].value eq", lambda _: find("/Users", work))
    measure("filter name.familyName sw", lambda n: find("/Users", f'name.familyName sw "family{n}"'))
    delta = 'active eq true and meta.lastModified ge "0001-01-03T00:00:00.0000000Z"'
    measure("filter active and lastModified, page of 100", lambda _: find("/Users", delta, "&count=100"))
    measure("read one user", lambda n: send("GET", f"/Users/{people[n]}"))
    made: list[str] = []

    def create(number: int) -> None:
        made.append(send("POST", "/Users", body(f"made{uuid.uuid4()}")).json()["id"])

    measure("create a user", create)
    measure("PATCH a user's name", lambda n: send("PATCH", f"/Users/{made[n]}", rename(f"Name {uuid.uuid4()}")))
    measure("PATCH a user inactive", lambda n: send("PATCH", f"/Users/{people[100 + n]}", active(False)))
    measure("delete a user", lambda n: send("DELETE", f"/Users/{made[n]}"))
    measure("list 100 groups, members excluded", lambda _: send("GET", "/Groups?count=100&excludedAttributes=members"))
    named = quote('displayName eq "group 500"')
    measure(
        "find a group by name, members excluded",
        lambda _: send("GET", f"/Groups?excludedAttributes=members&filter={named}"),
    )
    measure(f"read a group of {LARGE}", lambda _: send("GET", f"/Groups/{large.pk}"), 3)
    measure(
        f"read a group of {LARGE}, members excluded",
        lambda _: send("GET", f"/Groups/{large.pk}?excludedAttributes=members"),
    )
    member = quote(f'id eq "{large.pk}" and members eq "{people[0]}"')
    measure(f"is one a member of {LARGE}", lambda _: send("GET", f"/Groups?filter={member}&attributes=id"))
    for role, count in ((small, 20), (large, LARGE)):
        change_one(caller, role, count, outside)
    everybody = [{"value": str(key)} for key in people[:LARGE]]
    all_users = [
        str(key)
        for key in User.objects.filter(directory__isnull=False, removed__isnull=True).values_list("pk", flat=True)[
            :LARGE
        ]
    ]
    path = f"/Groups/{large.pk}?excludedAttributes=members"
    sets = ([{"value": key} for key in all_users], everybody)
    measure(
        f"PUT {LARGE} members, then {len(everybody)}, in turn", lambda n: send("PUT", path, {"members": sets[n % 2]}), 4
    )


def change_one(caller: Caller, role: Role, count: int, outside: list[uuid.UUID]) -> None:
    """Measure adding and removing one member of a group."""
    path = f"/Groups/{role.pk}"
    measure(f"PATCH add one member to {count}", lambda n: caller.send("PATCH", path, add(str(outside[n]))))
    measure(f"PATCH remove one member of {count}", lambda n: caller.send("PATCH", path, remove(str(outside[n]))))


def body(name: str) -> dict[str, Any]:
    """Return a new user as a directory sends it."""
    return {
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "userName": name,
        "externalId": name,
        "name": {"givenName": "New", "familyName": "Person"},
        "emails": [{"value": f"{name}@corp.local", "type": "work", "primary": True}],
        "title": "Operator",
    }


def rename(name: str) -> dict[str, Any]:
    """Return a PATCH of the display name."""
    return {"Operations": [{"op": "Replace", "path": "displayName", "value": name}]}


def active(state: bool) -> dict[str, Any]:
    """Return a PATCH of the active flag."""
    return {"Operations": [{"op": "Replace", "path": "active", "value": str(state)}]}


def main() -> None:
    """Fill, measure, print."""
    if connection.vendor != "postgresql":
        sys.exit("Run it on PostgreSQL: python -m tests.postgres --durable python -m bench.scim")
    started = time.perf_counter()
    secret, large, small = fill()
    print(f"{USERS} users, {GROUPS} groups, filled in {time.perf_counter() - started:.0f} s", flush=True)
    requests(Caller(secret), large, small)
    with serving("config.wsgi", WEB_WORKERS="2", SCIM_RATE_LIMIT="10000000") as base:
        scim_load.cycles(base, secret, small)
        scim_load.concurrent_adds(base, secret, small)


if __name__ == "__main__":
    main()
