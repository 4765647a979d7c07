"""The recovery address, to which links for a new password are sent, and how it changes (DECISIONS 9.3)."""

from django.utils.translation import gettext

from records.accounts.authority import Act, Actor, NotAllowedError, actor_of, may_act
from records.accounts.models import SecurityKind, User
from records.accounts.names import check_address
from records.accounts.security import security_event
from records.accounts.security_mails import address_in, queue_notice
from records.history.trail import Author, recording
from records.sites.writing import changing


def follow_fact(user: User, before: str, after: str, *, author: Author, actor: Actor | None = None) -> None:
    """Let a locked account's recovery address follow its person's e-mail address, or ask the person to confirm it.

    It follows if the author may change it. Otherwise it stays, the new address gets a link by which the person confirms
    it, and the old address gets a notice. A person who keeps a different recovery address is not asked. Sets the
    account's columns; the caller saves `recovery_address` and `pending_address`. `actor` is the directory if a
    directory writes (default: the author's account). An address is never accepted just because it matches.
    """
    if user.is_service_account or user.recovery_address == after:
        user.pending_address = ""
        return
    if user.recovery_address not in ("", before) and user.pending_address != before:
        return
    if may_act(actor or actor_of(author), Act.SET_RECOVERY_ADDRESS, user):
        _change(user, after, author)
        return
    user.pending_address = after
    if after:
        security_event(SecurityKind.ADDRESS_ASKED, account=user, author=author, detail=after)
        queue_notice(user, SecurityKind.ADDRESS_ASKED, after, after)
        queue_notice(user, SecurityKind.ADDRESS_ASKED, user.recovery_address, after, by=author.name)


def set_recovery_address(
    user: User, address: str, *, author: Author, actor: Actor | None = None, reason: str = ""
) -> None:
    """Set the recovery address of an account; raises NotAllowedError or ValidationError. Locks the account's row."""
    with changing(User, None, user.pk, author=author, operation="SetRecoveryAddress", reason=reason) as locked_user:
        if not may_act(actor or actor_of(author), Act.SET_RECOVERY_ADDRESS, locked_user):
            raise NotAllowedError(gettext("You may not change the recovery address of this account."))
        check_address(address, "recovery_address")
        _change(locked_user, address, author)
    user.recovery_address, user.pending_address = locked_user.recovery_address, locked_user.pending_address


def confirm_address(user: User, token: str, *, author: Author) -> bool:
    """Make the address of a link the recovery address of the signed-in account; returns whether the link was valid.

    The session and the mail to the new address together prove the person's identity.
    """
    with recording():
        locked_user = User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk)
        address = address_in(token, locked_user)
        if not address or not locked_user.is_staff:
            return False
        set_recovery_address(
            locked_user, address, author=author, actor=Actor(user=locked_user, is_reauthenticated=True)
        )
    return True


def _change(user: User, address: str, author: Author) -> None:
    old, user.recovery_address, user.pending_address = user.recovery_address, address, ""
    if old != address:
        security_event(SecurityKind.ADDRESS_CHANGED, account=user, author=author, detail=address)
        queue_notice(user, SecurityKind.ADDRESS_CHANGED, old, address, by=author.name)
