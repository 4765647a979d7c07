"""The regular jobs of the accounts room: delete old rows, record ended credentials, announce those that end soon."""

import datetime

from django.conf import settings
from django.db.models import Exists, OuterRef
from django_tasks import task

from records.accounts.brake import forget_old_removals
from records.accounts.credentials import end_expired
from records.accounts.directory_mails import TOKEN_ENDS, notify_administrators
from records.accounts.models import AccessChange, OAuthClient, ProvisioningToken, SecurityEvent, SubscriptionKey
from records.history.trail import now, recording

MARK_RETENTION = datetime.timedelta(hours=1)
"""Far longer than any process remembers a caller, so that a remembered access version never recurs."""


def drop_old_access_changes() -> int:
    """Delete old marks of access, except the newest of each user and site; returns how many there were."""
    newer = AccessChange.objects.filter(owner_id=OuterRef("owner_id"), pk__gt=OuterRef("pk"))
    return AccessChange.objects.filter(Exists(newer), at__lt=now() - MARK_RETENTION).delete()[0]


ANNOUNCE_BEFORE = datetime.timedelta(days=14)
"""How long before the end of a provisioning token the Site Administrators are notified (DECISIONS 9.6)."""
AT_ONCE = 1_000


@task()
def look_after_credentials() -> dict[str, int]:
    """Record ended credentials, announce ends of tokens, delete old rows; return the counts. Runs once an hour."""
    return {
        "announced": announce_ends(),
        "keys": end_expired(SubscriptionKey, operation="RevokeKey"),
        "clients": end_expired(OAuthClient, operation="RevokeClient"),
        "tokens": end_expired(ProvisioningToken, operation="RevokeToken"),
        "removals": forget_old_removals(),
        "events": forget_old_events(),
    }


def announce_ends() -> int:
    """Mail the Site Administrators once about each live token that ends within 14 days; returns how many there were."""
    moment = now()
    soon = ProvisioningToken.objects.filter(
        revoked__isnull=True,
        end_announced__isnull=True,
        expires__gt=moment,
        expires__lte=moment + ANNOUNCE_BEFORE,
        directory__is_archived=False,
    )
    count = 0
    for key in list(soon.order_by("expires", "pk").values_list("pk", flat=True)):
        with recording():
            token = soon.select_for_update(of=("self",), no_key=True).filter(pk=key).first()
            if token is None or token.expires is None:
                continue
            detail = f"{token.name}\n{token.expires:%Y-%m-%d %H:%M} UTC"
            notify_administrators(token.directory, TOKEN_ENDS, detail)
            token.end_announced = moment
            token.save(update_fields=["end_announced"])
            count += 1
    return count


def forget_old_events() -> int:
    """Delete security log rows older than SECURITY_LOG_DAYS, a thousand at a time; the history keeps its Changes."""
    deleted = 0
    while True:
        old = SecurityEvent.objects.filter(at__lt=now() - datetime.timedelta(days=settings.SECURITY_LOG_DAYS))
        keys = list(old.order_by("at", "pk").values_list("pk", flat=True)[:AT_ONCE])
        deleted += SecurityEvent.objects.filter(pk__in=keys).delete()[0]
        if len(keys) < AT_ONCE:
            return deleted
