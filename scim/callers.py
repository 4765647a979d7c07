"""Identifies the caller: a directory that uses one of its tokens on one of the two mounts (DECISIONS 2.4)."""

import uuid
from dataclasses import dataclass, field

from django.http import HttpRequest

from records.accounts.directories import OpenToken, WrongAddressError, remembered_token, token_of
from records.accounts.models import Dialect, Directory
from records.accounts.opening import AccessProof
from records.history.trail import Author, Channel
from records.operations import limits
from scim.errors import ScimError
from scim.mounts import Mount, base_of

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="provisioning"'}
RFC_PROFILE = "profile=rfc7643"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a token sees, and the address of its mount: everything on which the sources of its filters depend."""

    directory_id: uuid.UUID
    site_ids: tuple[uuid.UUID, ...]
    base: str


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of one request: the directory and its sites, the token and its dialect, and the mount."""

    directory: Directory
    site_ids: tuple[uuid.UUID, ...]
    token_id: uuid.UUID | None
    token_name: str
    dialect: Dialect
    mount: Mount
    author: Author
    reads_rfc: bool
    notes: list[str] = field(default_factory=list)
    """Sentences for the provisioning log that say which parts of the request were not carried out."""
    read_only: bool = False
    dry_run: bool = False
    """Whether every write is rolled back after the response is built."""
    proof: AccessProof | None = None
    """The proof of a remembered caller, with which its write begins; None if the database has said who calls."""

    @property
    def base(self) -> str:
        """Return the address of the mount, with which every location starts; it is never taken from the Host header."""
        return base_of(self.mount)

    @property
    def directory_id(self) -> uuid.UUID:
        """Return the directory's id."""
        return self.directory.pk

    @property
    def scope(self) -> Scope:
        """Return the scope of the token."""
        return Scope(self.directory_id, self.site_ids, self.base)


def bearer_of(request: HttpRequest) -> str:
    """Return the secret in the request's Authorization header; raises ScimError (401) when there is none."""
    header = request.META.get("HTTP_AUTHORIZATION", "").strip()
    scheme, _, secret = header.partition(" ")
    secret = secret.strip()
    twice = secret.lower().startswith("bearer ")
    if scheme.lower() == "bearer" and secret and not twice:
        return secret
    if header:
        limits.note_wrong_credential(request)
    if twice:
        raise ScimError(401, "The header contains 'Bearer' twice. Enter only the secret.", headers=CHALLENGE)
    raise ScimError(401, "Send the token as 'Authorization: Bearer <token>'.", headers=CHALLENGE)


def caller_of(request: HttpRequest, mount: Mount) -> Caller:
    """Return the caller; raises ScimError (401, or 403 where the token is not accepted from the caller's address).

    Raises ApiError (429) when an address sends too many wrong tokens.

    Makes one query, and at most one small write a minute.
    """
    try:
        token = token_of(bearer_of(request), request.META.get("REMOTE_ADDR", ""))
    except WrongAddressError:
        raise ScimError(403, "This token is not accepted from this network address.") from None
    if token is None:
        limits.note_wrong_credential(request)
        raise ScimError(401, "This token is unknown, expired or revoked.", headers=CHALLENGE)
    return _caller(request, mount, token)


def remembered_caller_of(request: HttpRequest, mount: Mount) -> Caller | None:
    """Return who used the token in the last minute, with a proof; None if unknown. Raises ScimError, as `caller_of`.

    Runs no query.
    """
    token = remembered_token(bearer_of(request), request.META.get("REMOTE_ADDR", ""))
    return None if token is None else _caller(request, mount, token)


def _caller(request: HttpRequest, mount: Mount, token: OpenToken) -> Caller:
    directory = token.directory
    accept = request.META.get("HTTP_ACCEPT", "").replace('"', "").lower()
    return Caller(
        directory=directory,
        site_ids=tuple(sorted(site.pk for site in token.sites)),
        token_id=token.id,
        token_name=token.name,
        dialect=token.dialect,
        mount=mount,
        author=Author(
            token.account_id,
            token.account_name,
            Channel.SCIM,
            f"{directory.name}: {token.name}",
            getattr(request, "request_id", ""),
        ),
        reads_rfc=token.dialect == Dialect.RFC or RFC_PROFILE in accept,
        read_only=token.read_only,
        dry_run=token.dry_run,
        proof=token.proof,
    )
