"""The mail to a site's administrators that says that a webhook was paused; the worker sends it."""

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext
from django_tasks import task

from records.accounts.directory_mails import administrators_of
from records.accounts.languages import in_language_of
from records.accounts.models import User
from records.accounts.security_mails import mail_to, send_or_retry
from records.history.trail import now
from records.webhooks.models import Subscription


def notify_administrators(subscription: Subscription, reason: str) -> None:
    """Queue a mail to everybody who may change webhooks at the site, in the writing transaction."""
    for user in administrators_of(subscription.site, "webhooks.change_subscription"):
        if user.recovery_address:
            mail_about_pause.enqueue(str(subscription.pk), str(user.pk), reason, f"{now():%Y-%m-%d %H:%M} UTC")


@task()
def mail_about_pause(subscription_id: str, user_id: str, reason: str, at: str, failures: int = 0) -> bool:
    """Send one mail and return whether it was sent. While the mail server is down, it is retried for a day."""
    subscription = Subscription.objects.select_related("site").filter(pk=subscription_id).first()
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if subscription is None or user is None or not user.recovery_address:
        return False
    path = reverse("admin:webhooks_subscription_read", args=(subscription.pk,))
    context = {
        "user": user,
        "subscription": subscription,
        "reason": reason,
        "at": at,
        "page": f"{settings.BASE_URL}{path}",
    }
    with in_language_of(user):
        subject = gettext("Larder: the webhook %(webhook)s was paused") % {"webhook": subscription.name}
        message = mail_to(user.recovery_address, subject, "webhook_paused", context)
    return send_or_retry(message.send, mail_about_pause, (subscription_id, user_id, reason, at), failures)
