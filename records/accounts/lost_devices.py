"""What an administrator does for a person who lost a phone or computer: end sessions, remove second factors."""

from allauth.mfa.models import Authenticator

from records.accounts.actions import end_sessions
from records.accounts.authority import Act, actor_of, require
from records.accounts.models import SecurityKind, User
from records.accounts.security import security_event
from records.accounts.security_mails import queue_notice
from records.history.trail import Author, recording


def end_all_sessions(user: User, *, author: Author, reason: str) -> None:
    """End every back-office session of an account, and mail its person; keys and OAuth clients remain valid.

    Raises NotAllowedError if the author may not act on the account (DECISIONS 9.2). Locks the account's row.
    """
    with recording():
        locked_user = User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk)
        require(actor_of(author), Act.END_SESSIONS, locked_user)
        end_sessions(locked_user)
        security_event(SecurityKind.SESSIONS_ENDED, account=locked_user, author=author, detail=reason)
        queue_notice(locked_user, SecurityKind.SESSIONS_ENDED, locked_user.recovery_address, reason, by=author.name)


def remove_factors(user: User, *, author: Author, reason: str) -> int:
    """Remove every second factor and recovery code of an account, end its sessions, and mail its person.

    Returns how many there were. If a second factor is mandatory, the person sets up a new one at the next sign-in.
    Raises NotAllowedError if the author may not act on the account (DECISIONS 9.2). Locks the account's row.
    """
    with recording():
        locked_user = User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk)
        require(actor_of(author), Act.SET_FACTOR, locked_user)
        count, _ = Authenticator.objects.filter(user=locked_user).delete()
        if count:
            end_sessions(locked_user)
            security_event(SecurityKind.FACTOR_REMOVED, account=locked_user, author=author, detail=reason)
    return count


def has_factors(user: User) -> bool:
    """Return whether the account has a second factor or recovery codes."""
    return Authenticator.objects.filter(user=user).exists()
