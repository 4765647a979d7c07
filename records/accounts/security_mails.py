"""Mails to an account's person about its security; the worker sends them (DECISIONS 9.3, 13.23)."""

import datetime
import logging
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext
from django_tasks import task

from records.accounts.languages import in_language_of
from records.accounts.models import SecurityKind, User
from records.history.trail import now
from records.sites.text import one_line

logger = logging.getLogger("larder.mail")
DELAYS = tuple(datetime.timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 720))
"""The delay before the next attempt, after each attempt that failed."""

SALT = "larder.recovery-address"
LINK_DAYS = 3

MAILED_KINDS = frozenset(
    {
        SecurityKind.PASSWORD_SET,
        SecurityKind.FACTOR_ADDED,
        SecurityKind.FACTOR_REMOVED,
        SecurityKind.PROVIDER_LINKED,
        SecurityKind.PROVIDER_UNLINKED,
        SecurityKind.KEY_ISSUED,
        SecurityKind.CLIENT_ISSUED,
    }
)
"""Events that are reported to the recovery address; changes of that address have their own notices."""


def queue_notice(user: User, kind: SecurityKind, to: str, detail: str = "", *, by: str = "") -> None:
    """Queue a mail about the account to an address, in the writing transaction; does nothing without an address."""
    if to and not user.is_service_account:
        mail_notice.enqueue(str(user.pk), kind.value, to, detail, by, f"{now():%Y-%m-%d %H:%M} UTC")


@task()
def mail_notice(user_id: str, kind: str, to: str, detail: str, by: str, at: str, failures: int = 0) -> bool:
    """Send one mail and return whether it was sent; while the mail server is down, it is retried for a day.

    The mail to an address that is to be confirmed contains the link, as long as that address is still waiting.
    """
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        return False
    asks = kind == SecurityKind.ADDRESS_ASKED and to == user.pending_address
    with in_language_of(user):
        message = _notice(user, kind, to, detail, by, at, asks=asks)
    return send_or_retry(message.send, mail_notice, (user_id, kind, to, detail, by, at), failures)


def _notice(user: User, kind: str, to: str, detail: str, by: str, at: str, *, asks: bool) -> EmailMessage:
    context = {
        "user": user,
        "what": SecurityKind(kind).label,
        "kind": kind,
        "detail": detail,
        "by": by,
        "at": at,
        "link": confirmation_link(user) if asks else "",
        "days": LINK_DAYS,
        "base_url": settings.BASE_URL,
    }
    subject = (
        gettext("Confirm your address for Larder")
        if asks
        else gettext("Your account at Larder: %(label)s") % {"label": SecurityKind(kind).label}
    )
    return mail_to(to, subject, "account_security", context)


def mail_to(address: str, subject: str, template: str, context: dict[str, object]) -> EmailMessage:
    """Return a mail in plain text that no mail program answers."""
    text, headers = render_to_string(f"mail/{template}.txt", context), {"Auto-Submitted": "auto-generated"}
    return EmailMessage(one_line(subject), text, to=[address], headers=headers)


def send_or_retry(
    send: Callable[[], object],
    task_of_mail: Any,
    arguments: Sequence[object],
    failures: int,
    delays: Sequence[datetime.timedelta] = DELAYS,
) -> bool:
    """Send a mail and return whether it was sent; if it was not, queue its task again after the next of the delays.

    The task takes the arguments and then the number of attempts that failed. After the last delay the error of the mail
    server is raised, so that the task is marked as failed.
    """
    try:
        send()
    except Exception as error:
        if failures >= len(delays):
            raise
        name = task_of_mail.name
        logger.warning("A mail could not be sent by %s (attempt %s): %s", name, failures + 1, type(error).__name__)
        task_of_mail.using(run_after=now() + delays[failures]).enqueue(*arguments, failures + 1)
        return False
    return True


def confirmation_link(user: User) -> str:
    """Return the URL of the page that confirms the waiting recovery address."""
    token = signing.dumps([str(user.pk), user.pending_address], salt=SALT)
    return f"{settings.BASE_URL}{reverse('confirm_address', args=(token,))}"


def address_in(token: str, user: User) -> str:
    """Return the address that the link confirms for the account; '' if the link is another's, old, used or altered."""
    try:
        key, address = signing.loads(token, salt=SALT, max_age=datetime.timedelta(days=LINK_DAYS))
    except (signing.BadSignature, ValueError, TypeError):
        return ""
    return str(address) if key == str(user.pk) and address and address == user.pending_address else ""
