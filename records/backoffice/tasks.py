"""The worker's part: mailing new people the invitation to choose a password."""

import logging

from django_tasks import task

from records.accounts.models import User
from records.backoffice.passwords import send_password_link

logger = logging.getLogger(__name__)


@task()
def invite(user_id: str) -> bool:
    """Mail a new person the link, unless access or address are gone meanwhile; return whether it was sent."""
    user = User.objects.filter(pk=user_id, is_active=True, removed__isnull=True).exclude(email="").first()
    if user is None:
        return False
    send_password_link(user, invited=True)
    return True
