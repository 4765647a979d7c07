"""The one query that opens a request with a subscription key and an access token of the same user (DECISIONS 2.3)."""

import uuid
from collections import defaultdict
from dataclasses import dataclass, field

from django.db import connection

from records.accounts import access, keys, peppers
from records.accounts.models import SubscriptionKey
from records.history.trail import now
from records.sites.models import Site

_LOOKUP = f"""{keys.KEY_AND_ROLES}, t AS (
    SELECT t.id, t.scopes, t.expires, c.user_id
      FROM accounts_accesstoken t
      JOIN accounts_oauthclient c ON c.id = t.client_id
      JOIN accounts_user u ON u.id = c.user_id
     WHERE t.digest {{token_match}} AND t.revoked IS NULL AND c.revoked IS NULL AND u.is_active
)
SELECT {keys.KEY_COLUMNS}, {{roles}}, t.id, t.scopes, t.expires, t.user_id
  FROM k LEFT JOIN t ON TRUE
"""  # noqa: S608 (no outside text)
_ROLES = {
    "postgresql": "(SELECT string_agg(r.site_id::text || ':' || r.id::text || ':' || r.revision, ',') FROM held "
    "JOIN accounts_role r ON r.id = held.id JOIN sites_site s ON s.id = r.site_id AND NOT s.is_archived)",
    "sqlite": "(SELECT group_concat(r.site_id || ':' || r.id || ':' || r.revision, ',') FROM held "
    "JOIN accounts_role r ON r.id = held.id JOIN sites_site s ON s.id = r.site_id AND NOT s.is_archived)",
}

NO_TOKEN = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True)
class TokenCaller(keys.Caller):
    """Whoever opened a request with a key and a token: what the token is for, and the user's roles at every site."""

    token_id: uuid.UUID = NO_TOKEN
    scopes: frozenset[str] = frozenset()
    is_superuser: bool = False
    roles: dict[uuid.UUID, list[tuple[uuid.UUID, int]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Opened:
    """What a key and a token opened: nothing without a caller, and only the key's door without a token."""

    key_opens: bool
    caller: TokenCaller | None
    key_id: uuid.UUID | None = None
    """The key, if there is one: also one that has ended."""


def opened_by(key: str, token: str) -> Opened:
    """Return who holds this key and this token; one query, and one small write a minute at most.

    A token that is unknown, expired, revoked or another user's opens nothing.
    """
    key_digests, token_digests = peppers.digests(key), peppers.digests(token)
    sql = _LOOKUP.format(
        match=keys.matching(key_digests), token_match=keys.matching(token_digests), roles=_ROLES[connection.vendor]
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [*key_digests, *token_digests])
        row = cursor.fetchone()
    if row is None:
        return Opened(False, None)
    key_id, opens, key_name, user_id, site_id, last_used, key_expires, is_superuser, printed, held, *of_token = row
    token_id, scopes, expires, token_user = of_token
    moment = now()
    identifier = access.identifier
    if not opens or (key_expires is not None and keys.aware(key_expires) <= moment):
        return Opened(False, None, identifier(key_id))
    if token_id is None or token_user != user_id or keys.aware(expires) <= moment:
        return Opened(True, None, identifier(key_id))
    keys.note_use(SubscriptionKey, identifier(key_id), last_used, moment)
    roles: dict[uuid.UUID, list[tuple[uuid.UUID, int]]] = defaultdict(list)
    for entry in held.split(",") if held else ():
        role_site, role, revision = entry.split(":")
        roles[uuid.UUID(role_site)].append((uuid.UUID(role), int(revision)))
    caller = TokenCaller(
        user_id=identifier(user_id),
        user_name=printed,
        site_id=identifier(site_id),
        key_id=identifier(key_id),
        key_name=key_name,
        permissions=frozenset(),
        token_id=identifier(token_id),
        scopes=frozenset(scopes.split()),
        is_superuser=bool(is_superuser),
        roles=dict(roles),
    )
    return Opened(True, caller, caller.key_id)


def permissions_at(caller: TokenCaller, site_id: uuid.UUID) -> access.Permissions:
    """Return what the caller may do at a site, which is nothing at one that does not exist or is archived."""
    if caller.is_superuser:
        return access.EVERYTHING if Site.objects.filter(pk=site_id, is_archived=False).exists() else frozenset()
    held = caller.roles.get(site_id)
    return access.permissions_of_roles(sorted(held)) if held else frozenset()
