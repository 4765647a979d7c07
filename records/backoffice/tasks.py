"""The worker's part: mailing new people the invitation to choose a password."""

import datetime
import logging

from django_tasks import task

from records.accounts.models import User
from records.backoffice.passwords import send_password_link
from records.history.trail import now

logger = logging.getLogger("larder.mail")
DELAYS = tuple(datetime.timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 720))
"""How long after each attempt that failed the next one is made."""


@task()
def invite(user_id: str, failed: int = 0) -> bool:
    """Mail a new person the link, unless access or address are gone meanwhile; return whether it was sent.

    While the mail server is down it is tried again later, for most of a day.
    """
    user = User.objects.filter(pk=user_id, is_active=True, removed__isnull=True).exclude(recovery_address="").first()
    if user is None:
        return False
    try:
        send_password_link(user, invited=True)
    except Exception as error:
        if failed >= len(DELAYS):
            raise
        logger.warning("An invitation could not be mailed (attempt %s): %s", failed + 1, type(error).__name__)
        invite.using(run_after=now() + DELAYS[failed]).enqueue(user_id, failed + 1)
        return False
    return True
