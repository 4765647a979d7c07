"""Writes to sites, accounts and roles, each one transaction with its history."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Unpack

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext

from records.accounts import default_roles
from records.accounts.authority import Act, actor_of, require
from records.accounts.calendar_links import revoke_links
from records.accounts.clients import revoke_client
from records.accounts.credentials import revoke
from records.accounts.directories import revoke_tokens
from records.accounts.models import Directory, OAuthClient, Role, RoleMembership, SecurityKind, SubscriptionKey, User
from records.accounts.models.users import printed_name
from records.accounts.names import check_address, check_user_name
from records.accounts.recovery import follow_fact
from records.accounts.roles_held import lock_outer_roles, people_within, refuse_cycle, touch_members, touch_users
from records.accounts.security import security_event, security_events
from records.history.digests import FieldChange
from records.history.trail import Author, recording
from records.sites.models import Site
from records.sites.text import refuse
from records.sites.writing import WriteArgs, add_record, apply, changing, stamp


def add_site(site: Site, *, author: Author) -> Site:
    """Store a site with its default roles; raises ValidationError."""
    with recording():
        add_record(site, author=author, operation="AddSite")
        default_roles.bring_up_to_date([site])
    return site


def add_user(
    user: User, *, author: Author, password: str | None = None, operation: str = "AddUser", reason: str = ""
) -> User:
    """Store an account, with an unusable password if none is given; raises ValidationError if the name is in use.

    The first recovery address is the one that is given, otherwise the account's e-mail address (DECISIONS 9.3).
    """
    check_user_name(user.user_name)
    user.recovery_address = user.recovery_address or user.email
    check_address(user.recovery_address, "email")
    user.set_password(password)
    return add_record(user, author=author, operation=operation, reason=reason)


def set_password(user: User, password: str, *, author: Author) -> None:
    """Give the account a password, which ends all its other sessions. The history does not contain the password."""
    notes: list[FieldChange] = [{"field": "password", "old": "", "new": "set"}]
    password_hash = make_password(password)  # Hashing takes long, so it is done before a row is locked.
    with changing(User, None, user.pk, author=author, operation="SetPassword", notes=notes) as locked_user:
        locked_user.password = password_hash
        security_event(SecurityKind.PASSWORD_SET, account=locked_user, author=author)
    user.password = locked_user.password


def end_access(user: User, *, author: Author, reason: str = "") -> None:
    """Make the account inactive and end its sessions, keys and tokens at once, in this transaction (DECISIONS 7.9)."""
    with recording():
        with changing(User, None, user.pk, author=author, operation="EndAccess", reason=reason) as locked_user:
            locked_user.is_active = False
        user.is_active = False
        security_event(SecurityKind.ACCESS_ENDED, account=user, author=author, detail=reason)
        end_credentials(user, author=author, reason=reason)


def give_access(user: User, *, author: Author, reason: str = "") -> None:
    """Restore the account's access to what its roles permit; keys and tokens that were ended stay ended.

    Raises ValidationError if the employee is archived, and NotAllowedError if the author may not do this.
    """
    with changing(User, None, user.pk, author=author, operation="GiveAccess", reason=reason) as locked_user:
        require(actor_of(author), Act.GIVE_ACCESS, locked_user)
        if User.objects.filter(pk=locked_user.pk, employee__is_archived=True).exists():
            raise refuse(gettext("The employee is archived; restore it first."))
        locked_user.is_active = True
        security_event(SecurityKind.ACCESS_GIVEN, account=locked_user, author=author, detail=reason)


def update_user(user: User, values: Mapping[str, Any], **options: Unpack[WriteArgs]) -> User:
    """Change an account's names, e-mail address or superuser flag; the recovery address follows (DECISIONS 9.3).

    Raises ValidationError if the name is in use, NotAllowedError if the author may not change the account's identity,
    or the error of the precondition.
    """
    author = options["author"]
    actor = actor_of(author)
    with changing(User, None, user.pk, operation="UpdateUser", **options) as locked_user:
        require(actor, Act.RENAME, locked_user)
        if values.get("is_superuser", locked_user.is_superuser) != locked_user.is_superuser:
            require(actor, Act.MAKE_SUPERUSER, locked_user)
        if values.get("email", locked_user.email) != locked_user.email:
            check_address(values["email"], "email")
            follow_fact(locked_user, locked_user.email, values["email"], author=author)
        is_renamed = values.get("user_name", locked_user.user_name) != locked_user.user_name
        if is_renamed:
            check_user_name(values["user_name"], locked_user)
        apply(locked_user, values)
        if is_renamed:
            security_event(
                SecurityKind.NAME_CHANGED, account=locked_user, author=author, detail=f"before: {user.user_name}"
            )
    return locked_user


def end_credentials(user: User, *, author: Author, reason: str = "") -> None:
    """Revoke every live key, OAuth client and calendar link of the account and end its sessions.

    Call it inside the writing transaction. Revoking a client also ends its access tokens. The tokens of a directory end
    with its service account.
    """
    with recording():
        for key in SubscriptionKey.objects.filter(user=user, revoked__isnull=True):
            revoke(key, author=author, operation="RevokeKey", reason=reason)
        for client in OAuthClient.objects.filter(user=user, revoked__isnull=True):
            revoke_client(client.pk, author=author, reason=reason)
        revoke_links(user, author=author, reason=reason)
        if user.is_service_account:
            for directory in Directory.objects.filter(service_account=user):
                revoke_tokens(directory, author=author, reason=reason)
        end_sessions(user)


def end_sessions(user: User) -> None:
    """End the account's back-office sessions by advancing the epoch: each session carries a hash of it."""
    User.objects.filter(pk=user.pk).update(session_epoch=models.F("session_epoch") + 1)
    user.refresh_from_db(fields=["session_epoch"])


def add_role(role: Role, *, permissions: Iterable[Permission] = (), author: Author) -> Role:
    """Store a role of a site with its permissions; raises ValidationError if the name is in use."""
    with recording():
        add_record(role, author=author, operation="AddRole")
        new_permissions = list(permissions)
        if new_permissions:
            permission_names = {
                f"{permission.content_type.app_label}.{permission.codename}" for permission in new_permissions
            }
            require(actor_of(author), Act.GIVE_ROLE, role, added_permissions=permission_names)
            with changing(Role, None, role.pk, author=author, operation="SetPermissions") as locked_role:
                locked_role.permissions.set(new_permissions)
    return role


def update_role(
    role: Role,
    *,
    name: str | None = None,
    permissions: Iterable[Permission] | None = None,
    **options: Unpack[WriteArgs],
) -> Role:
    """Rename a role or change what it permits; None leaves a value as it is.

    Raises ValidationError if the name is in use, NotAllowedError if the author does not hold everything that the role
    permits, before and after the change (DECISIONS 9.4), or the error of the precondition.
    """
    author = options["author"]
    new_permissions = None if permissions is None else list(permissions)
    permission_names = {
        f"{permission.content_type.app_label}.{permission.codename}" for permission in new_permissions or ()
    }
    with recording():
        if name is not None:
            lock_outer_roles(role.pk)
        with changing(Role, None, role.pk, operation="UpdateRole", **options) as locked_role:
            require(actor_of(author), Act.GIVE_ROLE, locked_role, added_permissions=permission_names)
            if name is not None:
                locked_role.name = name
                touch_members(locked_role)
            if new_permissions is not None and set(new_permissions) != set(locked_role.permissions.all()):
                locked_role.permissions.set(new_permissions)
                security_event(
                    SecurityKind.ROLE_CHANGED, author=author, detail=str(locked_role), site_id=locked_role.site_id
                )
    return locked_role


def set_members(
    role: Role,
    *,
    add: Sequence[User | Role] = (),
    remove: Sequence[User | Role] = (),
    author: Author,
    reason: str = "",
) -> None:
    """Add and remove members; adding a present member or removing an absent one changes nothing. Locks the role's row.

    Raises ValidationError if a role would contain itself, directly or through others, or belongs to another site, and
    NotAllowedError if the author may not give or take away what the role permits.
    """
    notes: list[FieldChange] = []
    with changing(
        Role, None, role.pk, author=author, operation="ChangeMembers", reason=reason, notes=notes
    ) as locked_role:
        actor = actor_of(author)
        for act, members in ((Act.GIVE_ROLE, add), (Act.TAKE_ROLE, remove)):
            if members:
                require(actor, act, locked_role)
        before = members_of(locked_role)
        removed_ids = {str(member.pk) for member in remove}
        for member in remove:
            name = "user" if isinstance(member, User) else "member_role"
            RoleMembership.objects.filter(**{"role": locked_role, name: member}).delete()
        remaining_members = [entry for entry in before if entry["id"] not in removed_ids]
        present = {entry["id"] for entry in remaining_members}
        new = [member for member in dict.fromkeys(add) if str(member.pk) not in present]
        roles = [member for member in new if isinstance(member, Role)]
        if any(member.site_id != role.site_id for member in roles):
            raise ValidationError(gettext("No such role at this site."), code="InvalidReference")
        if roles:
            refuse_cycle(locked_role, [member.pk for member in roles])
        RoleMembership.objects.bulk_create(
            [
                RoleMembership(
                    role=locked_role,
                    user=member if isinstance(member, User) else None,
                    member_role=member if isinstance(member, Role) else None,
                )
                for member in new
            ]
        )
        new_entries = [{"id": str(member.pk), "name": str(member)} for member in new]
        after = sorted([*remaining_members, *new_entries], key=itemgetter("id"))
        if before == after:
            return
        stamp(locked_role, author)
        nested_people = people_within(member.pk for member in (*new, *remove) if isinstance(member, Role))
        touch_users(nested_people | {member.pk for member in (*new, *remove) if isinstance(member, User)})
        for kind, people in ((SecurityKind.ROLE_GIVEN, new), (SecurityKind.ROLE_TAKEN, remove)):
            users = [member for member in people if isinstance(member, User)]
            security_events(kind, users, author=author, detail=str(locked_role), site_id=locked_role.site_id)
        notes.append({"field": "members", "old": before, "new": after})


def members_of(role: Role) -> list[dict[str, str]]:
    """Return the role's members as `{"id", "name"}`, ordered by id; one query."""
    names = ("user__display_name", "user__given_name", "user__family_name", "user__user_name")
    rows = RoleMembership.objects.filter(role=role).order_by()
    return sorted(
        (
            {"id": str(user or member_role), "name": printed_name(*user_names) if user else role_name}
            for user, member_role, role_name, *user_names in rows.values_list(
                "user_id", "member_role_id", "member_role__name", *names
            )
        ),
        key=itemgetter("id"),
    )
