"""Every request costs a fixed number of queries, whatever the number of users, groups and members."""

import datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from records.accounts import opening
from records.accounts.models import Dialect, ProvisioningToken, RoleMembership, SecurityEvent, SecurityKind, User
from tests import make
from tests.interface.test_round_trips import WARM, count_trips
from tests.scim import people
from tests.scim.conftest import Scim

ADD, REMOVE = "add", "remove"
FILTER = 'emails[type eq "work"] and groups pr or active eq true'


MOST = {
    "list users": 7,
    "filter users": 8,
    "sort users": 7,
    "read a user": 6,
    "list groups": 4,
    "list groups with members": 5,
    "read a group": 4,
    "search": 7,
    "create a user": 18,
    "add a member": 14,
    "remove a member": 15,
    "rename a group": 16,
    "rename a user": 13,
    "deactivate": 20,
    "delete a user": 30,
}
"""The statements of each kind of request, savepoints left out: its token (1) and its line in the log (1) included.

A filter over groups looks first whether any group is within another (1). What takes access away asks the brake on mass
removal besides.
"""


def queries(call) -> int:
    with CaptureQueriesContext(connection) as context:
        answer = call()
    assert answer.status_code < 300, answer.content
    return sum("SAVEPOINT" not in query["sql"] for query in context.captured_queries)


def patch_member(scim, group, key, op=ADD):
    return scim.patch(f"/Groups/{group}", {"op": op, "path": "members", "value": [{"value": key}]})


def costs(scim: Scim, group: str, free: list[str], number: int) -> dict[str, int]:
    """Return how many queries each kind of request takes."""
    one = free.pop()
    calls = {
        "list users": lambda: scim.get("/Users"),
        "filter users": lambda: scim.get(
            "/Users", {"filter": 'emails[type eq "work"] and groups pr or active eq true'}
        ),
        "sort users": lambda: scim.get("/Users", {"sortBy": "name.familyName"}),
        "read a user": lambda: scim.get(f"/Users/{one}"),
        "list groups": lambda: scim.get("/Groups", {"excludedAttributes": "members"}),
        "list groups with members": lambda: scim.get("/Groups"),
        "read a group": lambda: scim.get(f"/Groups/{group}"),
        "search": lambda: scim.post("/Users/.search", {"filter": "userName pr"}),
        "create a user": lambda: scim.post("/Users", people.user_body(f"new{number}", externalId=f"x{number}")),
        "add a member": lambda: patch_member(scim, group, one),
        "remove a member": lambda: patch_member(scim, group, one, REMOVE),
        "rename a group": lambda: scim.patch(f"/Groups/{group}", people.replace("displayName", f"G{number}")),
        "rename a user": lambda: scim.patch(f"/Users/{one}", people.replace("title", f"T{number}")),
        "deactivate": lambda: scim.patch(f"/Users/{one}", people.replace("active", False)),
        "delete a user": lambda: scim.delete(f"/Users/{one}"),
    }
    return {name: queries(call) for name, call in calls.items()}


@pytest.mark.parametrize("dialect", [Dialect.DOCUMENTED, Dialect.ENTRA])
def test_queries_do_not_grow_with_users_groups_or_members(scim_of, dialect):
    scim = scim_of(dialect)
    free = [scim.add_user(f"free{number}")["id"] for number in range(3)]
    members = [scim.add_user(f"member{number}")["id"] for number in range(3)]
    group = scim.add_group("Team", *members)["id"]
    costs(scim, group, free, 1)
    few = costs(scim, group, free, 2)
    more = [scim.add_user(f"more{number}")["id"] for number in range(27)]
    for number in range(12):
        scim.add_group(f"Group {number}", *more[number : number + 3])
    scim.put(f"/Groups/{group}", {"members": [{"value": key} for key in [*members, *more]]})
    assert costs(scim, group, free, 3) == few
    dear = {name: (few[name], most) for name, most in MOST.items() if few[name] > most}
    assert not dear, dear


def test_a_put_of_many_members_is_set_based(scim):
    keys = [scim.add_user(f"u{number}")["id"] for number in range(30)]
    group = scim.add_group("Team")["id"]

    def put(some):
        return queries(lambda: scim.put(f"/Groups/{group}", {"members": [{"value": key} for key in some]}))

    put(keys[:1])
    assert put(keys[1:3]) == put(keys[3:])
    assert scim.members(group) == set(keys[3:])


def test_many_removals_of_one_member_each_cost_what_one_list_of_them_costs(scim):
    keys = [scim.add_user(f"u{number}")["id"] for number in range(8)]
    group = scim.add_group("Team", *keys)["id"]
    cost_of_list = queries(
        lambda: scim.patch(
            f"/Groups/{group}", {"op": "remove", "path": "members", "value": [{"value": key} for key in keys[:4]]}
        )
    )
    each = [{"op": "remove", "path": f'members[value eq "{key}"]'} for key in keys[4:]]
    assert queries(lambda: scim.patch(f"/Groups/{group}", *each)) == cost_of_list
    assert scim.members(group) == set()


def test_each_person_of_a_set_based_change_is_in_the_security_log(scim):
    people = {scim.add_user(f"u{number}")["id"]: f"u{number}" for number in range(12)}
    group = scim.add_group("Team", *list(people)[:2])["id"]
    scim.put(f"/Groups/{group}", {"members": [{"value": key} for key in list(people)[2:]]})
    removals = SecurityEvent.objects.filter(kind=SecurityKind.ROLE_TAKEN)
    assert {str(event.account_id) for event in removals} == set(list(people)[:2])
    additions = SecurityEvent.objects.filter(kind=SecurityKind.ROLE_GIVEN, detail="Team")
    assert {str(event.account_id) for event in additions} == set(people)
    assert all(event.account_name and event.author_name and event.site_id for event in [*removals, *additions])


def test_a_connection_that_sees_several_sites_costs_the_same(site, other_site, scim_of, directory):
    scim = scim_of()
    scim.add_user("mira")
    before = queries(lambda: scim.get("/Users"))
    directory.sites.add(other_site)
    assert queries(lambda: scim.get("/Users")) == before


@pytest.mark.django_db(transaction=True)
def test_a_change_of_one_member_waits_for_postgresql_twice(scim_of, tmp_path, monkeypatch):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite runs in the process: a statement costs no round trip.")
    monkeypatch.setattr(opening, "REMEMBER_SECONDS", 3_600)  # However long the calls take, the caller is remembered.
    scim = scim_of(Dialect.ENTRA)
    members = [scim.add_user(f"u{number}")["id"] for number in range(3)]
    group = scim.add_group("Team", *members[:2])["id"]
    for _ in range(WARM):
        patch_member(scim, group, members[2])
        patch_member(scim, group, members[2], REMOVE)
    # Once a minute a call also stores when its token was used.
    ProvisioningToken.objects.update(last_used=timezone.now() + datetime.timedelta(days=1))
    for number, op in enumerate((ADD, REMOVE)):
        with count_trips(tmp_path / f"{number}") as trips:
            answer = patch_member(scim, group, members[2], op)
        assert answer.status_code == 204
        # Three of them write the line of the log, as the server does later.
        assert trips[0] <= 5, op


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="Only PostgreSQL keeps the plans of statements.")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("query", ["", 'userName eq "Noor%d"', 'emails.value eq "noor%d@corp.local"'])
def test_postgresql_plans_the_statement_that_reads_a_user_only_a_few_times(scim, query):
    users = [scim.add_user(f"noor{n}", emails=[{"value": f"noor{n}@corp.local"}]) for n in range(3 * WARM)]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # What PostgreSQL last counted in these tables can be the rows of another test.
    for number, user in enumerate(users):
        if query:
            (document,) = scim.get("/Users", {"filter": query % number}).json()["Resources"]
        else:
            document = scim.get(f"/Users/{user['id']}").json()
        assert document["id"] == user["id"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT custom_plans, generic_plans, statement FROM pg_prepared_statements")
        plans = [row[:2] for row in cursor.fetchall() if "accounts_useremail" in row[2] and "user_name" in row[2]]
    ((custom_plans, generic_plans),) = plans
    assert custom_plans == 5
    assert generic_plans >= WARM


@pytest.mark.django_db(transaction=True)
def test_members_added_at_once_are_all_there(scim):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time.")
    keys = [scim.add_user(f"u{number}")["id"] for number in range(8)]
    group = scim.add_group("Team")["id"]
    answers = make.at_once(*(lambda key=key: patch_member(Scim(scim.secret), group, key) for key in keys))
    assert [answer.status_code for answer in answers] == [200] * 8
    assert scim.members(group) == set(keys)


@pytest.mark.django_db(transaction=True)
def test_one_name_posted_at_once_makes_one_user(scim):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time.")
    posts = [lambda: Scim(scim.secret).post("/Users", people.user_body("mira", externalId="1")) for _ in range(6)]
    answers = make.at_once(*posts)
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409, 409, 409]
    assert User.objects.filter(user_name_key="mira").count() == 1
    members = [lambda: Scim(scim.secret).post("/Groups", {"displayName": "Team"}) for _ in range(6)]
    assert sorted(answer.status_code for answer in make.at_once(*members)) == [201, 409, 409, 409, 409, 409]
    assert not RoleMembership.objects.filter(role__name="Team").exists()
