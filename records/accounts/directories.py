"""Cloud directories and their provisioning tokens: making, issuing, revoking, and authenticating a request."""

import datetime
import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.utils.translation import gettext

from records.accounts import address_ranges
from records.accounts.authority import Act, actor_of, require
from records.accounts.credentials import issue, revoke
from records.accounts.keys import LAST_USED_EVERY, note_use
from records.accounts.models import Dialect, Directory, ProvisioningToken, SecurityKind, User
from records.accounts.opening import AccessProof, Kind, Opening, look_up, remember, remembered_opening
from records.accounts.security import security_event
from records.history.statements import row_of
from records.history.trail import Author, now, recording
from records.sites.models import Site
from records.sites.text import fault_at, refuse
from records.sites.writing import add_record, changing

LIVE_TOKENS = 5
DIRECTORY = (
    "id",
    "name",
    "home_site_id",
    "service_account_id",
    "may_administer",
    "matches_by_code",
    "may_set_passwords",
    "sends_invitations",
)
PROVISIONING_TOKEN = Kind(
    "accounts_provisioningtoken t JOIN accounts_directory d ON d.id = t.directory_id "
    "JOIN accounts_user u ON u.id = d.service_account_id JOIN sites_site s ON s.id = d.home_site_id",
    opens="u.is_active AND NOT d.is_archived AND NOT s.is_archived",
    columns=("t.dialect", "t.read_only", "t.dry_run", "t.addresses", *(f"d.{name}" for name in DIRECTORY)),
    reach="""
    SELECT s.id, s.name, NULL, NULL
      FROM c JOIN accounts_provisioningtoken t ON t.id = c.id
      JOIN sites_site s ON NOT s.is_archived
       AND (s.id = c.site_id
            OR s.id IN (SELECT x.site_id FROM accounts_directory_sites x WHERE x.directory_id = t.directory_id))""",
)
"""A token of a directory: its account is the directory's service account; it is valid at the directory's sites."""
M = TypeVar("M", Site, Directory)


@dataclass(frozen=True, slots=True)
class OpenToken:
    """A valid provisioning token with its directory, whose sites are loaded, and the author of its changes."""

    id: uuid.UUID
    name: str
    dialect: Dialect
    directory: Directory
    sites: tuple[Site, ...]
    account_id: uuid.UUID
    account_name: str
    read_only: bool = False
    dry_run: bool = False
    proof: AccessProof | None = None
    """The check that all of this is still true, which runs before a remembered token changes or reads anything."""


def remembered_token(secret: str, address: str = "") -> OpenToken | None:
    """Return the token with this secret if this process looked it up within the last minute and it may be used.

    It is valid only together with its proof. Runs no query.
    """
    opening = remembered_opening(PROVISIONING_TOKEN, secret)
    if opening is None or not _is_accepted(opening, address):
        return None
    return _open(opening, opening.proof_everywhere())


def token_of(secret: str, address: str = "") -> OpenToken | None:
    """Return the live token with this secret, or None. `address` is the network address of the call.

    Raises WrongAddressError if the token is bound to address ranges that do not contain the address. One query, and at
    most one small write per minute.
    """
    opening = look_up(PROVISIONING_TOKEN, secret)
    moment = now()
    if opening is None or not opening.is_live(moment):
        return None
    if not _is_accepted(opening, address):
        detail = f"token “{opening.name}” from an address that is not in its ranges"
        account = User(pk=opening.user_id, user_name=opening.user_name)
        security_event(SecurityKind.REFUSED, account=account, address=address, detail=detail, site_id=opening.site_id)
        raise WrongAddressError
    note_use(ProvisioningToken, opening.id, opening.last_used, moment)
    if opening.last_used is not None and moment - opening.last_used < LAST_USED_EVERY:
        remember(PROVISIONING_TOKEN, secret, opening)
    return _open(opening)


def _is_accepted(opening: Opening, address: str) -> bool:
    """Return whether the token is accepted from the network address."""
    ranges = opening.columns[3]
    return address_ranges.holds(json.loads(ranges) if isinstance(ranges, str) else ranges, address)


def _open(opening: Opening, proof: AccessProof | None = None) -> OpenToken:
    """Return a token with rows of its own, since rows that several requests share would load columns for each other."""
    dialect, read_only, dry_run, _, *of_directory = opening.columns
    directory = _row(Directory, DIRECTORY, of_directory)
    sites = {key: _row(Site, ("id", "name"), (key, name)) for key, name in opening.sites.items()}
    directory.home_site = sites[directory.home_site_id]
    directory.seen_sites = tuple(sites.values())
    return OpenToken(
        opening.id,
        opening.name,
        Dialect(dialect),
        directory,
        tuple(sites.values()),
        opening.user_id,
        opening.user_name,
        bool(read_only),
        bool(dry_run),
        proof,
    )


class WrongAddressError(Exception):
    """Raised if a token is used from an address from which it is not accepted."""


def _row(model: type[M], names: Sequence[str], values: Sequence[object]) -> M:
    """Return a stored row of which some columns were read; the others are loaded on access."""
    columns = zip(names, _readers(model, names), values, strict=True)
    return row_of(model, [(name, reader(value)) for name, reader, value in columns], db=DEFAULT_DB_ALIAS)


@cache
def _readers(model: type[M], names: Sequence[str]) -> Sequence[Callable[[Any], Any]]:
    """Return the functions that make Python's values of the columns' values."""
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    return [field.to_python for field in fields]


def add_directory(
    name: str,
    home_site: Site,
    *,
    author: Author,
    sites: Iterable[Site] = (),
    service_account: User | None = None,
    **choices: bool,
) -> Directory:
    """Store a directory with its home site among its sites; makes a service account for it if none is given.

    `choices` are may_administer, matches_by_code, may_set_passwords and sends_invitations. Raises ValidationError, and
    NotAllowedError if the author does not hold what the directory may give.
    """
    with recording():
        account = service_account
        if account is None:
            account = User(
                user_name=f"directory {name}", display_name=name, is_service_account=True, home_site=home_site
            )
            account.set_unusable_password()
            add_record(account, author=author, operation="AddUser")
        directory = Directory(name=name, home_site=home_site, service_account=account, **choices)
        add_record(directory, author=author, operation="AddDirectory")
        set_sites(directory, [home_site, *sites], author=author)
        require(actor_of(author), Act.PROVISION, directory)
    return directory


def set_sites(directory: Directory, sites: Iterable[Site], *, author: Author) -> None:
    """Make these the sites whose roles the directory may see; the home site always remains one of them."""
    with changing(Directory, None, directory.pk, author=author, operation="SetSites") as locked_directory:
        locked_directory.sites.set([directory.home_site, *sites])


def issue_token(
    directory: Directory,
    name: str,
    *,
    author: Author,
    dialect: Dialect = Dialect.DOCUMENTED,
    expires: datetime.datetime | None = None,
    read_only: bool = False,
    dry_run: bool = False,
    addresses: Sequence[str] = (),
) -> tuple[ProvisioningToken, str]:
    """Make a bearer token and return it with its secret, which is shown once; only a digest of it is stored.

    A `read_only` token changes nothing. The writes of a `dry_run` token are checked, answered and logged as usual, and
    then rolled back. `addresses` are the networks, such as "192.0.2.0/24", from which the token is accepted; an empty
    list means any. Without `expires` it ends after PROVISIONING_TOKEN_DAYS. Raises ValidationError if the directory is
    archived or has five live tokens, if the end is too late, and for networks that contain every address; raises
    NotAllowedError if the author does not hold what the directory may give. Locks the directory's row (DECISIONS 9.6).
    """
    with recording():
        if Directory.objects.select_for_update(of=("self",), no_key=True).get(pk=directory.pk).is_archived:
            text = gettext("This %(kind)s is archived; restore it first.") % {"kind": directory._meta.verbose_name}
            raise refuse(text)
        require(actor_of(author), Act.PROVISION, directory)
        live = [token for token in ProvisioningToken.objects.filter(directory=directory) if token.is_live]
        if len(live) >= LIVE_TOKENS:
            raise refuse(gettext("There are five valid tokens; revoke one first."))
        token = ProvisioningToken(
            directory=directory,
            name=name,
            dialect=dialect,
            expires=_end_of_token(expires),
            read_only=read_only,
            dry_run=dry_run,
            addresses=address_ranges.parse(addresses),
        )
        return issue(token, "lt", author=author, operation="IssueToken")


def latest_end() -> datetime.datetime | None:
    """Return the latest possible end of a token that is made now; None if it need not have an end."""
    days: int = settings.PROVISIONING_TOKEN_DAYS
    return now() + datetime.timedelta(days=days) if days else None


def _end_of_token(expires: datetime.datetime | None) -> datetime.datetime | None:
    latest = latest_end()
    # If the last permitted day is chosen, the token is valid until the end of that day.
    if latest is not None and expires is not None and expires > latest + datetime.timedelta(days=1):
        fault = gettext("A token can be valid for at most %(provisioning_token_days)s days.") % {
            "provisioning_token_days": settings.PROVISIONING_TOKEN_DAYS
        }
        raise fault_at("expires", fault, "InvalidValue")
    return expires or latest


def revoke_token(token_id: uuid.UUID, *, author: Author, reason: str = "") -> ProvisioningToken:
    """End a token at once, in every process; repeating it changes nothing. Locks the token's row."""
    token = ProvisioningToken.objects.get(pk=token_id)
    return revoke(token, author=author, operation="RevokeToken", reason=reason)


def revoke_tokens(directory: Directory, *, author: Author, reason: str = "") -> None:
    """End every token of the directory for good, so that none works again when the directory or its account returns."""
    for key in directory.tokens.filter(revoked__isnull=True).order_by("pk").values_list("pk", flat=True):
        revoke_token(key, author=author, reason=reason)
