"""Who may act on an account, role, credential or directory: one check for every interface (DECISIONS 9.1).

JSON, back-office, import, SCIM and profile all ask `may_act(actor, act, target)`; none of them has a rule of its own.
What an account holds is read from the database each time, since a wrong answer here hands over somebody's account.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_noop

from records.accounts import access
from records.accounts.default_roles import permissions_of
from records.accounts.models import DefaultRole, Directory, Role, User
from records.history.statements import Rows, Statement, parameter, together
from records.history.trail import Author

PermissionsBySite = dict[uuid.UUID, frozenset[str]]
Target = User | Role | Directory


class NotAllowedError(ValidationError):
    """Raised if a person or a directory asks for something that they may not do; the text gives the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, code="Forbidden")
        self.reason = reason


class Act(StrEnum):
    """What can be done to an account, a role or a directory. Its words are part of a refusal."""

    SET_PASSWORD = gettext_noop("set the password")
    RENAME = gettext_noop("change the user name")
    SET_RECOVERY_ADDRESS = gettext_noop("change the recovery address")
    SET_FACTOR = gettext_noop("change the second factor")
    GIVE_ACCESS = gettext_noop("give access again")
    END_ACCESS = gettext_noop("end the access")
    END_SESSIONS = gettext_noop("end the sessions")
    ADOPT = gettext_noop("take over the account")
    REMOVE = gettext_noop("delete the account")
    MAKE_SUPERUSER = gettext_noop("decide who is a superuser")
    ISSUE_CREDENTIAL = gettext_noop("make keys and OAuth clients for the account")
    GIVE_ROLE = gettext_noop("give the role")
    TAKE_ROLE = gettext_noop("take away the role")
    PROVISION = gettext_noop("decide what the directory may do, or make tokens for it")


IDENTITY_ACTS = frozenset(
    {
        Act.SET_PASSWORD,
        Act.RENAME,
        Act.SET_RECOVERY_ADDRESS,
        Act.SET_FACTOR,
        Act.GIVE_ACCESS,
        Act.END_ACCESS,
        Act.END_SESSIONS,
    }
)
"""Acts that take an account over, restore its access or lock its person out (DECISIONS 9.2)."""

TAKE_OVER = frozenset({Act.SET_PASSWORD, Act.SET_RECOVERY_ADDRESS, Act.SET_FACTOR})
"""Acts by which somebody with a stolen key or another person's open session could take over the account. Everybody,
superusers included, must prove who they are before they do one of them to their own account."""

ONLY_OF_OWN_ACCOUNTS = frozenset({Act.SET_PASSWORD, Act.SET_RECOVERY_ADDRESS})
"""Acts that a directory may do to accounts that it made, but never to those that it adopted (DECISIONS 9.2)."""

ADMINISTRATIVE = frozenset(
    f"{app}.{verb}_{model}"
    for app, models in {
        "accounts": (
            "user",
            "role",
            "rolemembership",
            "directory",
            "provisioningtoken",
            "subscriptionkey",
            "oauthclient",
        ),
        "sites": ("site", "entityfolder"),
    }.items()
    for model in models
    for verb in ("add", "change", "delete")
)
"""The administrative permissions: a directory gives them only if a superuser allows it (DECISIONS 9.4, 13.12)."""

CHANGE_USER, CHANGE_ROLE, ADD_ROLE = "accounts.change_user", "accounts.change_role", "accounts.add_role"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks: an account, a directory, or the product itself if both are None.

    `is_reauthenticated` means that the person proved their identity a moment ago, by password or second factor. A key
    never does.
    """

    user: User | None = None
    directory: Directory | None = None
    is_reauthenticated: bool = False

    @property
    def is_product(self) -> bool:
        """Return whether the product itself acts, such as a command, a migration or the worker."""
        return self.user is None and self.directory is None


def actor_of(author: Author) -> Actor:
    """Return the actor of an author of changes; an account that has been removed may do nothing."""
    if author.id is None:
        return Actor()
    user = User.objects.filter(pk=author.id).first() or User(pk=author.id, is_active=False)
    return Actor(user=user)


def may_act(actor: Actor, act: Act, target: Target) -> bool:
    """Return whether the actor may do this to the account, role or directory."""
    return not refusal(actor, act, target)


def require(
    actor: Actor,
    act: Act,
    target: Target,
    *,
    added_permissions: Iterable[str] = (),
    permission_rows: Rows | None = None,
) -> None:
    """Raise NotAllowedError, with the reason, unless the actor may do this; the options are those of `refusal`."""
    if reason := refusal(actor, act, target, added_permissions=added_permissions, permission_rows=permission_rows):
        raise NotAllowedError(reason)


def refusal(
    actor: Actor,
    act: Act,
    target: Target,
    *,
    added_permissions: Iterable[str] = (),
    permission_rows: Rows | None = None,
) -> str:
    """Return why the actor may not do this; '' if they may.

    `added_permissions` are permissions (`app.codename`) that are to be added to the role. `permission_rows` are the
    rows of the statement `permissions_statement` about the role, if it ran in this transaction already.
    """
    if actor.is_product:
        return ""
    if isinstance(target, Role):
        return _role_refusal(
            actor, act, target, permissions_of_members(target, permission_rows).union(added_permissions)
        )
    if isinstance(target, Directory):
        return _directory_refusal(actor, target)
    if actor.directory is not None:
        return _provisioning_refusal(actor.directory, act, target)
    return _account_refusal(actor, act, target)


# --- What accounts and roles hold ------------------------------------------------------------------------------------


def permissions_of_account(user_id: uuid.UUID) -> PermissionsBySite:
    """Return what the account's roles permit at each site, whether or not the account is active; two queries.

    A site is included even if the account's roles there permit nothing. An archived site is included too: when it is
    restored, the roles there permit again what they did, also to somebody who has taken the account over meanwhile.
    """
    return _permissions_at_sites(access.roles_held(user_id, at_archived_sites=True))


def _permissions_at_sites(roles: Mapping[uuid.UUID, Iterable[tuple[uuid.UUID, int]]]) -> PermissionsBySite:
    permissions_of_role = access.stored_permissions(role for held_roles in roles.values() for role, _ in held_roles)
    return {
        site: frozenset().union(*(permissions_of_role[role] for role, _ in held_roles))
        for site, held_roles in roles.items()
    }


def permissions_of_members(role: Role, rows: Rows | None = None) -> frozenset[str]:
    """Return every permission that a member of the role holds: those of the role and of the roles that contain it.

    Runs one query in this transaction, unless its rows are given; nothing is cached.
    """
    pairs = together([permissions_statement(role.pk)])[0] if rows is None else rows
    return frozenset(f"{app}.{codename}" for app, codename in pairs)


def permissions_statement(role_id: uuid.UUID) -> Statement:
    """Return the statement of `permissions_of_members`."""
    return _ROLE_PERMISSIONS, [parameter(role_id)]


_ROLE_PERMISSIONS = """
WITH RECURSIVE joined(id) AS (
    SELECT r.id FROM accounts_role r WHERE r.id = %s
    UNION
    SELECT m.role_id FROM joined JOIN accounts_rolemembership m ON m.member_role_id = joined.id
      JOIN accounts_role r ON r.id = m.role_id AND NOT r.is_archived
) SELECT DISTINCT c.app_label, p.codename FROM joined
    JOIN accounts_role_permissions g ON g.role_id = joined.id
    JOIN auth_permission p ON p.id = g.permission_id
    JOIN django_content_type c ON c.id = p.content_type_id
"""


def _held_permissions(user: User) -> PermissionsBySite:
    return _permissions_at_sites(access.roles_held(user.pk)) if user.is_active else {}


# --- People ----------------------------------------------------------------------------------------------------------


def _account_refusal(actor: Actor, act: Act, target: User) -> str:
    user = actor.user
    if user is None or not user.is_active:
        return gettext("Only an account with access may do this.")
    if act in (Act.ADOPT, Act.REMOVE):
        return gettext("Only a directory may %(act)s.") % {"act": gettext(act)}
    if user.pk == target.pk and act is Act.ISSUE_CREDENTIAL:
        return ""
    if user.is_superuser and not (user.pk == target.pk and act in TAKE_OVER):
        return ""
    if user.pk == target.pk and act in IDENTITY_ACTS:
        return (
            ""
            if actor.is_reauthenticated
            else gettext("You may %(act)s of your own account only after proving who you are.") % {"act": gettext(act)}
        )
    if act is Act.MAKE_SUPERUSER:
        return gettext("Only a superuser can decide who is a superuser.")
    if target.is_superuser:
        return gettext("This is the account of a superuser: only a superuser may do this.")
    if act is Act.ISSUE_CREDENTIAL and not target.is_service_account:
        return gettext("Only the person can make keys for their own account.")
    return _rank_refusal(user, act, target)


def _rank_refusal(user: User, act: Act, target: User) -> str:
    """Return why the user does not outrank the account at one of its sites (DECISIONS 9.2, 13.1); '' if they do.

    Making a key for a service account means giving what that account holds, so an equal may do it (9.4).
    """
    held_permissions, target_permissions = _held_permissions(user), permissions_of_account(target.pk)
    sites = set(target_permissions) | {target.home_site_id}
    if None in sites:
        return gettext("This account has no home site: only a superuser may %(act)s.") % {"act": gettext(act)}
    if any(CHANGE_USER not in held_permissions.get(site, frozenset()) for site in sites if site is not None):
        return gettext(
            "To %(act)s you need the permission to change accounts at the account's home site and at "
            "every site where it holds a role."
        ) % {"act": gettext(act)}
    for site, permissions in target_permissions.items():
        outranks = (
            permissions <= held_permissions[site]
            if act is Act.ISSUE_CREDENTIAL
            else permissions < held_permissions[site]
        )
        if not outranks:
            return gettext(
                "To %(act)s you must hold, at every site of the account, all that it may do there and more."
            ) % {"act": gettext(act)}
    return ""


def _role_refusal(actor: Actor, act: Act, role: Role, permissions: frozenset[str]) -> str:
    """Return why the actor may not give or take away the role: one can give only what one holds (DECISIONS 9.4)."""
    if actor.directory is not None:
        return _beyond_directory(actor.directory, {role.site_id: permissions}, lambda: f"{gettext(act)} “{role}”")
    user = actor.user
    if user is None or not user.is_active:
        return gettext("Only an account with access may do this.")
    if user.is_superuser:
        return ""
    held_permissions = _held_permissions(user).get(role.site_id, frozenset())
    if CHANGE_ROLE not in held_permissions and ADD_ROLE not in held_permissions:
        return gettext("To %(act)s “%(role)s” you need the permission to change roles at its site.") % {
            "act": gettext(act),
            "role": role,
        }
    if missing_permissions := permissions - held_permissions:
        return gettext(
            "To %(act)s “%(role)s” you must hold all that it permits; you lack %(count)s of its permissions."
        ) % {"act": gettext(act), "role": role, "count": len(missing_permissions)}
    return ""


# --- Directories -----------------------------------------------------------------------------------------------------


def sites_of(directory: Directory) -> set[uuid.UUID]:
    """Return the sites whose roles the directory may see and give."""
    return {directory.home_site_id, *(site.pk for site in directory.seen_sites)}


def _beyond_directory(directory: Directory, by_site: PermissionsBySite, describe_act: Callable[[], str]) -> str:
    """Return why permissions that are held or to be given exceed what the directory may give; '' if they do not."""
    if set(by_site) - sites_of(directory):
        return gettext("The directory may not %(doing)s: there is a role at a site that it does not see.") % {
            "doing": describe_act()
        }
    if not directory.may_administer and any(permissions & ADMINISTRATIVE for permissions in by_site.values()):
        return gettext(
            "The directory may not %(doing)s: only a superuser can let it give administrative permissions."
        ) % {"doing": describe_act()}
    return ""


def _provisioning_refusal(directory: Directory, act: Act, target: User) -> str:
    """Return why the directory may not do this to the account (DECISIONS 9.2, 9.5, 13.1, 13.9)."""
    if target.is_superuser:
        return gettext("This is the account of a superuser: no directory may %(act)s.") % {"act": gettext(act)}
    if target.directory_id not in (None, directory.pk):
        return gettext("This account belongs to another directory: this one may not %(act)s.") % {"act": gettext(act)}
    if act in (Act.MAKE_SUPERUSER, Act.ISSUE_CREDENTIAL, Act.SET_FACTOR):
        return gettext("No directory may %(act)s.") % {"act": gettext(act)}
    is_owned = target.directory_id == directory.pk
    if is_owned and act in (Act.END_ACCESS, Act.END_SESSIONS, Act.ADOPT):
        return ""
    if act in ONLY_OF_OWN_ACCOUNTS and not (is_owned and target.made_by_directory):
        return gettext("The directory may not %(act)s: it did not make this account.") % {"act": gettext(act)}
    return _beyond_directory(directory, permissions_of_account(target.pk), lambda: gettext(act))


def _directory_refusal(actor: Actor, directory: Directory) -> str:
    """Return why the actor may not configure the directory: its tokens can give everything that it may give."""
    user = actor.user
    if user is None or not user.is_active:
        return gettext("Only an account with access may do this.")
    if user.is_superuser:
        return ""
    held_permissions = _held_permissions(user)
    at_home = held_permissions.get(directory.home_site_id, frozenset())
    if not at_home & {"accounts.change_directory", "accounts.add_directory"}:
        return gettext("To %(provision)s you need the permission to change directories at its home site.") % {
            "provision": gettext(Act.PROVISION)
        }
    permissions = permissions_of(DefaultRole.SITE_ADMINISTRATOR)
    if not directory.may_administer:
        permissions -= ADMINISTRATIVE
    if any(permissions - held_permissions.get(site, frozenset()) for site in sites_of(directory)):
        return gettext("To %(provision)s you must hold all that it may give, at every one of its sites.") % {
            "provision": gettext(Act.PROVISION)
        }
    return ""
