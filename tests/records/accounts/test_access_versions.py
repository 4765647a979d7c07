"""What a process remembers of a caller, and that whatever ends or changes access is noticed at once."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from records.accounts import access_triggers, clients, directories, housekeeping, keys, opening, tokens
from records.accounts.models import (
    AccessChange,
    AccessToken,
    DefaultRole,
    Dialect,
    Directory,
    OAuthClient,
    Role,
    RoleMembership,
    SubscriptionKey,
    User,
)
from records.history.trail import now
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.oauth import make_client, make_token

READ = "/employee/GetEmployeeList"


@pytest.fixture
def key(site: Site) -> make.Key:
    return make.make_key(site)


def still_holds(key: make.Key) -> bool:
    """Return whether what is remembered of the key's caller is still what the database says."""
    caller = keys.remembered_caller(key.secret)
    assert caller is not None
    try:
        opening.prove(caller.proof)
    except opening.StaleAccessError:
        return False
    return True


def nest(key: make.Key) -> Role:
    """Make a role of another site that holds a role of the key's site, and return the latter."""
    inner = Role.objects.create(site=make.make_site("Elsewhere"), name="Inner", name_key="inner")
    outer = Role.objects.create(site=key.site, name="Outer", name_key="outer")
    RoleMembership.objects.create(role=inner, user=key.user)
    RoleMembership.objects.create(role=outer, member_role=inner)
    return inner


CHANGES: dict[str, Callable[[make.Key], Any]] = {
    "the key is revoked": lambda key: SubscriptionKey.objects.update(revoked=now()),
    "the key expires sooner": lambda key: SubscriptionKey.objects.update(expires=now() + timedelta(days=1)),
    "the key is deleted": lambda key: SubscriptionKey.objects.all().delete(),
    "the key moves to another site": lambda key: SubscriptionKey.objects.update(site=make.make_site("Third")),
    "the key gets another secret": lambda key: SubscriptionKey.objects.update(digest="0" * 64),
    "the account is switched off": lambda key: User.objects.filter(pk=key.user.pk).update(is_active=False),
    "the account becomes a superuser": lambda key: User.objects.filter(pk=key.user.pk).update(is_superuser=True),
    "the account is renamed": lambda key: User.objects.filter(pk=key.user.pk).update(display_name="Someone"),
    "the user leaves a role": lambda key: RoleMembership.objects.filter(user=key.user).delete(),
    "the user enters a role": lambda key: RoleMembership.objects.create(
        role=Role.objects.get(site=key.site, default_role=DefaultRole.READER), user=key.user
    ),
    "the user is moved to another role": lambda key: RoleMembership.objects.filter(user=key.user).update(
        role=Role.objects.get(site=key.site, default_role=DefaultRole.READER)
    ),
    "a role of the site permits less": lambda key: Role.objects.get(
        site=key.site, default_role=DefaultRole.MANAGER
    ).permissions.clear(),
    "a role of the site permits more": lambda key: Role.objects.get(
        site=key.site, default_role=DefaultRole.READER
    ).permissions.add(Permission.objects.latest("pk")),
    "a role is archived": lambda key: Role.objects.filter(site=key.site).update(is_archived=True),
    "a role enters a role": lambda key: RoleMembership.objects.create(
        role=Role.objects.get(site=key.site, default_role=DefaultRole.MANAGER),
        member_role=Role.objects.get(site=key.site, default_role=DefaultRole.READER),
    ),
    "the site is archived": lambda key: Site.objects.filter(pk=key.site.pk).update(is_archived=True),
    "a client ends": lambda key: OAuthClient.objects.update(revoked=now()),
    "an access token ends": lambda key: AccessToken.objects.update(revoked=now()),
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_changes_access_is_noticed(name: str, key: make.Key) -> None:
    make_token(key.user)
    assert keys.caller_of(key.secret) is not None
    assert still_holds(key)
    CHANGES[name](key)
    assert not still_holds(key)


@pytest.mark.parametrize("end", ["archive", "leave", "unnest"])
def test_a_change_of_nested_roles_is_noticed_at_every_site(end: str, key: make.Key) -> None:
    inner = nest(key)
    assert keys.caller_of(key.secret) is not None
    assert still_holds(key)
    if end == "archive":
        Role.objects.filter(pk=inner.pk).update(is_archived=True)
    elif end == "leave":
        RoleMembership.objects.filter(role=inner).delete()
    else:
        RoleMembership.objects.filter(member_role=inner).delete()
    assert not still_holds(key)


def test_what_concerns_others_does_not_make_a_process_forget(key: make.Key, other_site: Site) -> None:
    assert keys.caller_of(key.secret) is not None
    other = make.make_key(other_site)
    keys.revoke_key(SubscriptionKey.objects.exclude(user=key.user).get().pk, author=make.SYSTEM)
    RoleMembership.objects.filter(user=other.user).delete()
    User.objects.filter(pk=other.user.pk).update(is_active=False)
    SubscriptionKey.objects.update(last_used=now())
    User.objects.filter(pk=key.user.pk).update(last_login=now(), revision=99)
    assert still_holds(key)


def test_a_rolled_back_change_leaves_no_mark(key: make.Key) -> None:
    assert keys.caller_of(key.secret) is not None
    with transaction.atomic():
        SubscriptionKey.objects.update(revoked=now())
        assert not still_holds(key)
        transaction.set_rollback(True)
    assert still_holds(key)


def test_a_caller_is_remembered_for_a_minute_and_not_beyond_the_keys_end(key: make.Key, monkeypatch: Any) -> None:
    clock = [1000.0]
    monkeypatch.setattr(opening.time, "monotonic", lambda: clock[0])
    assert keys.remembered_caller(key.secret) is None
    assert keys.caller_of(key.secret) is not None
    clock[0] += opening.REMEMBER_SECONDS
    assert keys.remembered_caller(key.secret) is not None
    clock[0] += 1
    assert keys.remembered_caller(key.secret) is None
    SubscriptionKey.objects.update(expires=now() + timedelta(hours=1))
    assert keys.caller_of(key.secret) is not None
    monkeypatch.setattr(opening, "now", lambda: now() + timedelta(hours=2))
    assert keys.remembered_caller(key.secret) is None


def test_no_more_callers_are_remembered_than_allowed(site: Site, monkeypatch: Any) -> None:
    monkeypatch.setattr(opening, "MOST_REMEMBERED", 2)
    issued_keys = [make.make_key(site) for _ in range(3)]
    for key in issued_keys:
        keys.caller_of(key.secret)
    assert [keys.remembered_caller(key.secret) is None for key in issued_keys] == [True, False, False]


def test_no_secret_is_kept_in_memory(key: make.Key) -> None:
    keys.caller_of(key.secret)
    assert key.secret not in repr(opening._openings)


def test_a_token_that_ends_is_noticed_although_the_key_lives(key: make.Key) -> None:
    client, _ = make_client(key.user)
    token = make_token(key.user)
    assert tokens.opened_by(key.secret, token).caller is not None
    assert tokens.remembered_caller(key.secret, token) is not None
    clients.revoke_client(OAuthClient.objects.exclude(pk=client.pk).get().pk, author=make.SYSTEM)
    caller = tokens.remembered_caller(key.secret, token)
    assert caller is not None
    with pytest.raises(opening.StaleAccessError):
        opening.prove(caller.at(key.site.pk).proof)
    assert tokens.opened_by(key.secret, token).caller is None


def test_access_that_grew_is_granted_at_once(site: Site) -> None:
    key = make.make_key(site, DefaultRole.READER)
    api = Api(key)
    assert api.post("/item/AddItem", {"Name": "Scale"}).status_code == 403
    RoleMembership.objects.create(role=Role.objects.get(site=site, default_role=DefaultRole.MANAGER), user=key.user)
    assert api.post("/item/AddItem", {"Name": "Scale"}).status_code == 200


def test_a_list_of_a_remembered_caller_ends_with_their_access(key: make.Key) -> None:
    api = Api(key)
    assert api.get(READ).status_code == 200
    with CaptureQueriesContext(connection) as queries:
        assert api.get(READ).status_code == 200
    assert len(queries) == 2
    SubscriptionKey.objects.update(revoked=now())
    assert api.get(READ).status_code == 401


def test_a_write_of_a_remembered_caller_ends_with_their_access(key: make.Key) -> None:
    api = Api(key)
    assert api.post("/item/AddItem", {"Name": "Scale"}).status_code == 200
    SubscriptionKey.objects.update(revoked=now())
    assert api.post("/item/AddItem", {"Name": "Scale"}).status_code == 401


def _triggers() -> list[tuple[str, str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(access_triggers._PRESENT[connection.vendor])
        return sorted(cursor.fetchall())


def _alter_triggers(statements: dict[str, str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statements[connection.vendor])


@pytest.mark.parametrize(
    "statements",
    [
        {
            "postgresql": "DROP TRIGGER access_change_0_delete ON accounts_user",
            "sqlite": "DROP TRIGGER access_change_0_delete",
        },
        {
            "postgresql": "CREATE TRIGGER access_change_0_delete AFTER DELETE ON sites_sitesequence "
            "EXECUTE FUNCTION access_change_1_delete()",
            "sqlite": "CREATE TRIGGER access_change_99_delete AFTER DELETE ON sites_sitesequence BEGIN SELECT 1; END",
        },
    ],
    ids=["one is gone", "an earlier release watched another table"],
)
def test_the_triggers_are_made_again_where_they_differ(db: None, statements: dict[str, str]) -> None:
    before = _triggers()
    assert len({name for name, _, _ in before}) == len(before)
    _alter_triggers(statements)
    assert _triggers() != before
    access_triggers.install("default")
    assert _triggers() == before
    with CaptureQueriesContext(connection) as queries:
        access_triggers.install("default")
    assert not [query for query in queries if "TRIGGER" in query["sql"][:20]]


def test_old_marks_are_dropped_and_no_earlier_version_comes_back(key: make.Key) -> None:
    owner = key.user.pk
    for _ in range(5):
        User.objects.filter(pk=owner).update(display_name=uuid.uuid4().hex)
    assert keys.caller_of(key.secret) is not None
    AccessChange.objects.update(at=now() - timedelta(hours=2))
    newest = AccessChange.objects.filter(owner_id=owner).order_by("-pk").first()
    assert housekeeping.drop_old_access_changes() > 0
    assert list(AccessChange.objects.filter(owner_id=owner)) == [newest]
    assert not still_holds(key)
    assert keys.caller_of(key.secret) is not None
    assert still_holds(key)


@pytest.fixture
def directory(site: Site) -> Directory:
    return directories.add_directory("Corp", site, author=make.SYSTEM)


@pytest.fixture
def secret(directory: Directory) -> str:
    """Return the secret of a token that has just been used."""
    secret = directories.issue_token(directory, "Token", author=make.SYSTEM, dialect=Dialect.RFC)[1]
    for _ in range(2):  # The first call also stores that the token was used.
        assert directories.token_of(secret) is not None
    return secret


def token_still_opens(secret: str) -> bool:
    """Return whether what is remembered of the provisioning token is still what the database says."""
    token = directories.remembered_token(secret)
    assert token is not None
    assert token.proof is not None
    try:
        opening.prove(token.proof)
    except opening.StaleAccessError:
        return False
    return True


DIRECTORY_CHANGES: dict[str, Callable[[Directory], Any]] = {
    "the token is revoked": lambda of: of.tokens.update(revoked=now()),
    "the token expires sooner": lambda of: of.tokens.update(expires=now() + timedelta(days=1)),
    "the token is deleted": lambda of: of.tokens.all().delete(),
    "the token gets another secret": lambda of: of.tokens.update(digest="0" * 64),
    "the token is renamed": lambda of: of.tokens.update(name="Other"),
    "the token gets another dialect": lambda of: of.tokens.update(dialect=Dialect.OKTA),
    "the token only reads": lambda of: of.tokens.update(read_only=True),
    "the token only tries": lambda of: of.tokens.update(dry_run=True),
    "the token is bound to addresses": lambda of: of.tokens.update(addresses=["192.0.2.0/24"]),
    "the token moves to another directory": lambda of: of.tokens.update(
        directory=directories.add_directory("Other", of.home_site, author=make.SYSTEM)
    ),
    "the directory is archived": lambda of: Directory.objects.update(is_archived=True),
    "the directory is renamed": lambda of: Directory.objects.update(name="Other"),
    "the directory moves": lambda of: Directory.objects.update(home_site=make.make_site("Third")),
    "the directory gets another account": lambda of: Directory.objects.update(service_account=make.make_user()),
    "the directory may do more": lambda of: Directory.objects.update(may_administer=True),
    "the directory matches by code": lambda of: Directory.objects.update(matches_by_code=True),
    "the directory may set passwords": lambda of: Directory.objects.update(may_set_passwords=True),
    "the directory invites": lambda of: Directory.objects.update(sends_invitations=True),
    "the directory sees another site": lambda of: of.sites.add(make.make_site("Third")),
    "the directory sees a site no more": lambda of: of.sites.clear(),
    "the account is switched off": lambda of: User.objects.filter(pk=of.service_account_id).update(is_active=False),
    "the account is renamed": lambda of: User.objects.filter(pk=of.service_account_id).update(display_name="Someone"),
    "the home site is archived": lambda of: Site.objects.filter(pk=of.home_site_id).update(is_archived=True),
    "the home site is renamed": lambda of: Site.objects.filter(pk=of.home_site_id).update(name="Renamed"),
}


@pytest.mark.parametrize("name", DIRECTORY_CHANGES)
def test_whatever_changes_what_a_provisioning_token_opens_is_noticed(
    name: str, directory: Directory, secret: str
) -> None:
    assert token_still_opens(secret)
    DIRECTORY_CHANGES[name](directory)
    assert not token_still_opens(secret)


def test_another_site_of_a_directory_is_noticed_too(directory: Directory, secret: str, other_site: Site) -> None:
    directory.sites.add(other_site)
    assert directories.token_of(secret) is not None
    assert token_still_opens(secret)
    Site.objects.filter(pk=other_site.pk).update(is_archived=True)
    assert not token_still_opens(secret)


def test_what_a_token_does_not_depend_on_does_not_make_a_process_forget_it(directory: Directory, secret: str) -> None:
    other = directories.add_directory("Other", make.make_site("Elsewhere"), author=make.SYSTEM)
    directories.issue_token(other, "Other", author=make.SYSTEM, dialect=Dialect.RFC)
    Directory.objects.filter(pk=other.pk).update(is_archived=True)
    directory.tokens.update(last_used=now(), end_announced=now())
    Directory.objects.filter(pk=directory.pk).update(stopped=now(), last_modified=now())
    assert token_still_opens(secret)


def test_every_column_that_a_provisioning_token_opens_is_watched() -> None:
    columns_by_table = {of.table: of.columns for of in access_triggers.TRIGGERS}
    assert set(directories.DIRECTORY) - {"id"} <= set(columns_by_table["accounts_directory"])
    columns = {name.removeprefix("t.") for name in directories.PROVISIONING_TOKEN.columns if name.startswith("t.")}
    assert columns <= set(columns_by_table["accounts_provisioningtoken"])
