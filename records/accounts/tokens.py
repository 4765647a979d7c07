"""Authenticating a request with a subscription key and an access token of the same user (DECISIONS 2.3)."""

import dataclasses
import uuid
from dataclasses import dataclass, field

from records.accounts.keys import KEY, Caller, KeyEndedError, open_key
from records.accounts.opening import Kind, Opening, look_up, remember, remembered_opening

ACCESS_TOKEN = Kind(
    "accounts_accesstoken t JOIN accounts_oauthclient o ON o.id = t.client_id JOIN accounts_user u ON u.id = o.user_id "
    "LEFT JOIN sites_site s ON s.id = u.home_site_id",
    opens="o.revoked IS NULL AND u.is_active",
    name="o.name",
    last_used="NULL",
    columns=("t.scopes",),
)
NO_TOKEN = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True)
class TokenCaller(Caller):
    """The caller of a request with a key and a token, and the token's scopes.

    The caller has no permission before it has entered a site.
    """

    token_id: uuid.UUID = NO_TOKEN
    scopes: frozenset[str] = frozenset()
    _callers_at_sites: dict[uuid.UUID, "TokenCaller"] = field(default_factory=dict, compare=False, repr=False)

    def at(self, site_id: uuid.UUID) -> "TokenCaller":
        """Return the caller at a site, without any permission if the site does not exist or is archived."""
        caller = self._callers_at_sites.get(site_id)
        if caller is None:
            permissions, proof = self.opening.permissions.get(site_id, frozenset()), self.opening.proof(site_id)
            caller = dataclasses.replace(self, site_id=site_id, permissions=permissions, proof=proof)
            if permissions:
                self._callers_at_sites[site_id] = caller
        return caller


@dataclass(frozen=True, slots=True)
class KeyAndToken:
    """What a key and a token opened. There is a caller only if both are valid; `key_opens` is about the key alone."""

    key_opens: bool
    caller: TokenCaller | None
    key_id: uuid.UUID | None = None
    """The key, if there is one, even if it has ended."""


def opened_by(key: str, token: str) -> KeyAndToken:
    """Return the caller with this key and this token; two queries, and at most one small write per minute.

    A token that is unknown, expired, revoked or another user's opens nothing.
    """
    try:
        of_key = open_key(key)
    except KeyEndedError as ended:
        return KeyAndToken(False, None, ended.key_id)
    if of_key is None:
        return KeyAndToken(False, None)
    of_token = look_up(ACCESS_TOKEN, token)
    if of_token is None or not of_token.is_live() or of_token.user_id != of_key.user_id:
        return KeyAndToken(True, None, of_key.id)
    remember(ACCESS_TOKEN, token, of_token)
    return KeyAndToken(True, _caller(of_key, of_token), of_key.id)


def remembered_caller(key: str, token: str) -> TokenCaller | None:
    """Return who used this key and this token within the last minute; the caller's proof must still be checked.

    Runs no query. Also returns None if the user's access has changed between the two.
    """
    of_key, of_token = remembered_opening(KEY, key), remembered_opening(ACCESS_TOKEN, token)
    if of_key is None or of_token is None or of_key.user_id != of_token.user_id:
        return None
    if of_key.versions[of_key.user_id] != of_token.versions[of_key.user_id]:
        return None
    caller: TokenCaller | None = of_token.callers.get(of_key.id)
    if caller is None or caller.opening is not of_key:
        caller = of_token.callers[of_key.id] = _caller(of_key, of_token)
    return caller


def _caller(key: Opening, token: Opening) -> TokenCaller:
    (scopes,) = token.columns
    return TokenCaller(
        user_id=key.user_id,
        user_name=key.user_name,
        site_id=key.site_id,
        key_id=key.id,
        key_name=key.name,
        permissions=frozenset(),
        opening=key,
        token_id=token.id,
        scopes=frozenset(scopes.split()),
    )
