"""Cloud directories and their provisioning tokens: make, issue, revoke (DECISIONS 2.4)."""

import datetime
import uuid
from collections.abc import Iterable

from django.core.exceptions import ValidationError

from records.accounts.actions import create, editing
from records.accounts.credentials import issue, revoke
from records.accounts.models import Dialect, Directory, ProvisioningToken, User
from records.history.trail import Author, recording
from records.sites.models import Site

LIVE_TOKENS = 5


def add_directory(
    name: str,
    home_site: Site,
    *,
    author: Author,
    sites: Iterable[Site] = (),
    service_account: User | None = None,
    **choices: bool,
) -> Directory:
    """Store a directory with its home site among its sites; makes its service account when none is given.

    `choices` are may_administer, matches_by_code and sends_invitations. Raises ValidationError.
    """
    with recording():
        account = service_account
        if account is None:
            account = User(
                user_name=f"directory {name}", display_name=name, is_service_account=True, home_site=home_site
            )
            account.set_unusable_password()
            create(account, author=author, operation="AddUser", site_id=home_site.pk)
        directory = Directory(name=name, home_site=home_site, service_account=account, **choices)
        create(directory, author=author, operation="AddDirectory", site_id=home_site.pk)
        set_sites(directory, [home_site, *sites], author=author)
    return directory


def set_sites(directory: Directory, sites: Iterable[Site], *, author: Author) -> None:
    """Make these the sites whose roles the directory may see; the home site stays among them."""
    with editing(directory, author=author, operation="SetSites", site_id=directory.home_site_id) as locked:
        locked.sites.set([directory.home_site, *sites])


def issue_token(
    directory: Directory,
    name: str,
    *,
    author: Author,
    dialect: Dialect = Dialect.DOCUMENTED,
    expires: datetime.datetime | None = None,
) -> tuple[ProvisioningToken, str]:
    """Make a bearer token and return it with its secret, which is shown once and kept only as a digest.

    Raises ValidationError when the directory has five live tokens. Locks the directory's row.
    """
    with recording():
        Directory.objects.select_for_update(of=("self",), no_key=True).get(pk=directory.pk)
        live = [token for token in ProvisioningToken.objects.filter(directory=directory) if token.is_live]
        if len(live) >= LIVE_TOKENS:
            raise ValidationError("There are five live tokens; revoke one first.", code="InvalidTransition")
        token = ProvisioningToken(directory=directory, name=name, dialect=dialect, expires=expires)
        return issue(token, "lt", author=author, operation="IssueToken", site_id=directory.home_site_id)


def revoke_token(token_id: uuid.UUID, *, author: Author, reason: str = "") -> ProvisioningToken:
    """End a token at once, in every process; repeating it changes nothing. Locks the token's row."""
    with recording():
        token = ProvisioningToken.objects.select_related("directory").get(pk=token_id)
        site_id = token.directory.home_site_id
        return revoke(token, author=author, operation="RevokeToken", reason=reason, site_id=site_id)
