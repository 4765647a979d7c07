"""The worker's part: mailing links for setting a password."""

from functools import partial

from django_tasks import task

from records.accounts import guesses
from records.accounts.models import User
from records.accounts.security_mails import DELAYS, send_or_retry
from records.backoffice.passwords import LINKS_OF_ACCOUNT, people_with_address, send_password_link

DELAYS_OF_LINKS = DELAYS[:3]
"""Shorter for a link for a new password, since people would rather request another one than wait."""


@task()
def invite(user_id: str, failures: int = 0) -> bool:
    """Mail the link to a new person, unless access or address have been removed; return whether it was sent.

    While the mail server is down, it is retried for most of a day.
    """
    return _mail(user_id, failures, is_invitation=True)


@task()
def mail_links(address: str) -> int:
    """Queue a link for each person with the address, except for accounts at their hourly limit; return how many."""
    count = 0
    for user in people_with_address(address):
        try:
            guesses.spend("links-of", str(user.pk), LINKS_OF_ACCOUNT)
        except guesses.TooManyGuessesError:
            continue
        mail_link.enqueue(str(user.pk))
        count += 1
    return count


@task()
def mail_link(user_id: str, failures: int = 0) -> bool:
    """Mail a link for a new password to a person; return whether it was sent."""
    return _mail(user_id, failures, is_invitation=False)


def _mail(user_id: str, failures: int, *, is_invitation: bool) -> bool:
    people = User.objects.filter(pk=user_id, is_active=True, is_service_account=False, removed__isnull=True)
    user = people.exclude(recovery_address="").first()
    if user is None:
        return False
    task_of_mail, delays = (invite, DELAYS) if is_invitation else (mail_link, DELAYS_OF_LINKS)
    return send_or_retry(
        partial(send_password_link, user, is_invitation=is_invitation), task_of_mail, (user_id,), failures, delays
    )
