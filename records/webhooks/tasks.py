"""The tasks of the worker: delivering messages, on time or on request, and deleting old deliveries."""

import datetime
import time

from django.db.models import Q
from django_tasks import task

from records.history.trail import now
from records.operations import stored_mails
from records.webhooks import signing
from records.webhooks.deliverer import SLICE_SECONDS, deliver_to, due, send_requested
from records.webhooks.models import Delivery, Subscription

BUDGET_SECONDS = 20.0
"""For how long one task begins new messages, so that mails and proofs do not wait much longer than this."""
RETENTION = datetime.timedelta(days=30)
AT_ONCE = 1_000


def is_waiting() -> bool:
    """Return whether messages are due for which no task is queued; the worker asks every few seconds."""
    return due(now()).exists() and not stored_mails.is_queued(deliver)


@task()
def deliver() -> int:
    """Deliver what is due, subscription by subscription; return how many messages the receivers accepted.

    This can run any number of times and in any number of workers. The subscriptions come in a random order, so that
    none of them always waits.
    """
    until = time.monotonic() + BUDGET_SECONDS
    count = 0
    for key in list(due(now()).order_by("?").values_list("pk", flat=True)):
        seconds = until - time.monotonic()
        if seconds <= 0:
            break
        count += deliver_to(key, seconds=min(seconds, SLICE_SECONDS))
    if count and is_waiting():
        deliver.enqueue()
    return count


@task()
def send_one(delivery_id: int) -> bool:
    """Make an attempt that a person asked for."""
    return send_requested(delivery_id)


@task()
def clean_up() -> dict[str, int]:
    """Delete deliveries older than 30 days, and encrypt secrets again under a new SECRET_KEY; return the counts."""
    old, deleted = Delivery.objects.filter(at__lt=now() - RETENTION), 0
    while keys := list(old.order_by("at").values_list("pk", flat=True)[:AT_ONCE]):
        deleted += Delivery.objects.filter(pk__in=keys).delete()[0]
    Subscription.objects.filter(former_until__lt=now()).update(former_secret="", former_until=None)
    return {"deliveries": deleted, "secrets": _re_encrypt()}


def _re_encrypt() -> int:
    done = 0
    for key, secret, former in list(Subscription.objects.values_list("pk", "secret", "former_secret")):
        values = {
            "secret": signing.reencrypt(secret),
            "former_secret": signing.reencrypt(former) if former else "",
        }
        changes = {name: text for name, text in values.items() if text}
        if changes:
            # The filter leaves out a subscription for which somebody has made a new secret meanwhile.
            done += Subscription.objects.filter(Q(secret=secret), pk=key, former_secret=former).update(**changes)
    return done
