"""What a credential opens: one lookup for keys, access tokens and provisioning tokens, over one query of roles.

A process remembers for a minute what a key or an access token opened. This alone never grants access: the caller's
access version is compared in the statement that reads the answer, so that a change or an end of access takes effect at
once, in every process (`records/accounts/models/access_changes.py`).
"""

import datetime
import time
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from django.db.models import BigIntegerField
from django.db.models.expressions import RawSQL

from records.accounts import access, peppers
from records.history.sets import id_of
from records.history.statements import Statement, parameter, together
from records.history.trail import now

REMEMBER_SECONDS = 60.0
"""Seconds for which a process remembers an opening; after that it reads the end and the last use again."""
MOST_REMEMBERED = 10_000
NO_SITE = uuid.UUID(int=0)
"""The placeholder for the site of a credential that belongs to no site."""

_VERSION = "(SELECT CAST(COALESCE(SUM(a.stamp), 0) AS BIGINT) FROM accounts_accesschange a WHERE a.owner_id {owners})"
_SITES_OF_ROLES = """
    SELECT s.id, s.name, r.id, r.revision
      FROM held JOIN accounts_role r ON r.id = held.id JOIN sites_site s ON s.id = r.site_id AND NOT s.is_archived
    UNION ALL
    SELECT s.id, s.name, NULL, NULL FROM c JOIN sites_site s ON c.is_superuser AND NOT s.is_archived"""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A kind of credential in terms of SQL: its table `t`, its account `u`, its site `s`, and the sites it reaches.

    `columns` are read in addition to those that all kinds share. `reach` returns id, name, role and the role's revision
    for every site that it reaches; in it, the row of the credential is `c`.
    """

    tables: str
    opens: str
    name: str = "t.name"
    last_used: str = "t.last_used"
    columns: Sequence[str] = ()
    reach: str = _SITES_OF_ROLES

    @cache  # noqa: B019 (there are as many kinds as kinds of credential)
    def sql(self, match: str) -> str:
        """Return the statement that looks a credential up; it returns a row per role or site, but at least one row."""
        # The statement contains only text from this module and from the kinds.
        columns = "".join(f", {column} AS x{number}" for number, column in enumerate(self.columns))
        extra = "".join(f", c.x{number}" for number in range(len(self.columns)))
        return f"""
WITH RECURSIVE c AS (
    SELECT t.id, {self.name} AS name, {self.last_used} AS last_used, t.expires, u.id AS user_id, s.id AS site_id,
           u.is_superuser, t.revoked IS NULL AND {self.opens} AS opens,
           COALESCE(NULLIF(u.display_name, ''), NULLIF(TRIM(u.given_name || ' ' || u.family_name), ''), u.user_name)
             AS printed{columns}
      FROM {self.tables} WHERE t.digest {match}
), {access.HELD_ROLES.format(users="IN (SELECT c.user_id FROM c)")},
reach(site_id, name, role_id, revision) AS ({self.reach})
SELECT c.id, c.name, c.last_used, c.expires, c.user_id, c.site_id, c.is_superuser, c.opens, c.printed,
       {_VERSION.format(owners="= c.user_id")}, {_VERSION.format(owners="= c.site_id")},
       reach.site_id, reach.name, reach.role_id, reach.revision, {_VERSION.format(owners="= reach.site_id")}{extra}
  FROM c LEFT JOIN reach ON TRUE
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Opening:
    """A credential and what it opens: whose it is, at which sites, and what is permitted there."""

    id: uuid.UUID
    name: str
    user_id: uuid.UUID
    user_name: str
    site_id: uuid.UUID
    expires: datetime.datetime | None
    last_used: datetime.datetime | None
    opens: bool
    columns: tuple[Any, ...]
    sites: Mapping[uuid.UUID, str]
    permissions: Mapping[uuid.UUID, access.Permissions]
    versions: Mapping[uuid.UUID, int]
    callers: dict[uuid.UUID | None, Any] = field(default_factory=dict)
    """Who calls with this credential, alone or together with another one; made once, since each request asks."""
    _proofs: dict[uuid.UUID, "AccessProof"] = field(default_factory=dict)

    def is_live(self, moment: datetime.datetime | None = None) -> bool:
        """Return whether the credential is valid at a moment, by default now."""
        return self.opens and (self.expires is None or self.expires > (moment or now()))

    def proof(self, site_id: uuid.UUID) -> "AccessProof | None":
        """Return the check whether all of this is still true at the site; None if the site is not known here."""
        if site_id not in self._proofs:
            owners = {self.user_id, self.site_id, site_id}
            if any(owner not in self.versions for owner in owners):
                return None
            version = sum(self.versions[owner] for owner in owners)
            self._proofs[site_id] = AccessProof(tuple(map(parameter, (self.user_id, self.site_id, site_id))), version)
        return self._proofs[site_id]

    def proof_everywhere(self) -> "AccessProof":
        """Return the check whether all of this is still true at every site."""
        return AccessProof(tuple(map(parameter, self.versions)), sum(self.versions.values()))


class AccessProof(NamedTuple):
    """A check that access has not changed since it was remembered: the summed versions of a user and of sites."""

    owners: tuple[object, ...]
    version: int

    @property
    def statement(self) -> Statement:
        """Return the statement that runs this check by itself; pass its only value to `check`."""
        owners = ", ".join(["%s"] * len(self.owners))
        return f"SELECT {_VERSION.format(owners=f'IN ({owners})')}", self.owners


PROOF_SQL = _VERSION.format(owners="IN (%s, %s, %s)")
"""The version of the owners of a proof at one site, as a column of any statement."""


def proof_column(owners: Sequence[object]) -> RawSQL:
    """Return the version of a proof's owners as a column of a query."""
    return RawSQL(PROOF_SQL, tuple(owners), output_field=BigIntegerField())  # noqa: S611 (no outside text)


class StaleAccessError(Exception):
    """Raised if what was remembered of a caller is out of date; the caller then has to be looked up again."""


def prove(proof: AccessProof | None) -> None:
    """Check that access has not changed since it was remembered; raises StaleAccessError. One statement."""
    if proof is None:
        raise StaleAccessError
    check(proof, together([proof.statement])[0][0][0])


def check(proof: AccessProof, version: int) -> None:
    """Compare the version that a statement returned; raises StaleAccessError if it differs."""
    if version != proof.version:
        raise StaleAccessError


_openings: dict[tuple[Kind, tuple[str, ...]], tuple[float, Opening]] = {}
"""The key contains the digests under all peppers, so that removing a pepper also invalidates what was remembered."""


def look_up(kind: Kind, secret: str) -> Opening | None:
    """Return what is known of the credential with this secret, valid or ended, or None; one statement."""
    digests = peppers.digests(secret)
    [rows] = together([(kind.sql(matching(digests)), digests)])
    return _opening(rows) if rows else None


def remember(kind: Kind, secret: str, opening: Opening) -> None:
    """Remember an opening for the next minute, unless its account has no access version."""
    if opening.versions[opening.user_id]:
        while len(_openings) >= MOST_REMEMBERED:
            _openings.pop(next(iter(_openings)), None)
        _openings[kind, tuple(peppers.digests(secret))] = (time.monotonic(), opening)


def remembered_opening(kind: Kind, secret: str) -> Opening | None:
    """Return what the secret opened within the last minute, if this process looked it up.

    The result is valid only together with a check of its proof.
    """
    entry = _openings.get((kind, tuple(peppers.digests(secret))))
    if entry is None or time.monotonic() - entry[0] > REMEMBER_SECONDS or not entry[1].is_live():
        return None
    return entry[1]


def forget() -> None:
    """Forget every opening."""
    _openings.clear()


def _opening(rows: Sequence[Sequence[Any]]) -> Opening:
    key, name, last_used, expires, user, site, superuser, opens, user_name, of_user, of_site = rows[0][:11]
    user_id, site_id = id_of(user), NO_SITE if site is None else id_of(site)
    sites: dict[uuid.UUID, str] = {}
    roles: dict[uuid.UUID, list[tuple[uuid.UUID, int]]] = defaultdict(list)
    versions: dict[uuid.UUID, int] = {user_id: of_user, site_id: of_site}
    for row in rows:
        reached_site, site_name, role, revision, version = row[11:16]
        if reached_site is None:
            continue
        reached_id = id_of(reached_site)
        sites[reached_id], versions[reached_id] = site_name, version
        if role is not None:
            roles[reached_id].append((id_of(role), revision))
    if superuser:
        permissions = dict.fromkeys(sites, access.EVERYTHING)
    else:
        permissions = {
            reached_id: access.permissions_of_roles(sorted(of_site)) for reached_id, of_site in roles.items()
        }
    return Opening(
        id_of(key),
        name,
        user_id,
        user_name,
        site_id,
        None if expires is None else aware(expires),
        None if last_used is None else aware(last_used),
        bool(opens),
        tuple(rows[0][16:]),
        sites,
        permissions,
        versions,
    )


def matching(digests: Sequence[str]) -> str:
    """Return the condition that a digest is one of the given number of parameters."""
    return "= %s" if len(digests) == 1 else f"IN ({', '.join(['%s'] * len(digests))})"


def aware(value: datetime.datetime | str) -> datetime.datetime:
    """Return the date-time of a raw query with its time zone."""
    moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
