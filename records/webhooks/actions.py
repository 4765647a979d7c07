"""The writes to subscriptions. Each is one transaction with its Change; the history contains no secrets."""

import datetime
import secrets
import uuid
from typing import Unpack

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from records.history.digests import FieldChange
from records.history.models import ChainHead
from records.history.trail import Author, now, recording
from records.sites.models import Site
from records.sites.text import refuse
from records.sites.writing import Values, WriteArgs, add_record, apply, changing
from records.webhooks import destinations, signing
from records.webhooks.models import Delivery, Kind, Outcome, State, Subscription

MOST_WEBHOOKS = 20
"""The maximum number of a site's subscriptions that are not archived."""
OVERLAP = datetime.timedelta(hours=24)
"""How long the former secret still signs after it was replaced."""


def add_subscription(site_id: uuid.UUID, values: Values, *, author: Author) -> Subscription:
    """Store a subscription, which begins with the site's next change; raises ValidationError.

    The host name of the address is resolved before the transaction begins. Locks the site's row.
    """
    destinations.check_name(values["address"])
    with recording():
        subscription = Subscription(site_id=site_id, **values)
        _lock_with_room(subscription)
        _give_secret(subscription, signing.new_secret())
        last = ChainHead.objects.filter(chain=site_id).values_list("number", flat=True).first()
        subscription.position = last or 0
        return add_record(subscription, author=author, operation="AddWebhook")


def _lock_with_room(subscription: Subscription) -> None:
    """Lock the site's row; raises ValidationError if the site has too many other subscriptions."""
    site_id = subscription.site_id
    Site.objects.select_for_update(of=("self",), no_key=True).get(pk=site_id)
    if Subscription.objects.at(site_id).filter(is_archived=False).exclude(pk=subscription.pk).count() >= MOST_WEBHOOKS:
        raise refuse(gettext("A site has at most %(most)s webhooks; archive one first.") % {"most": MOST_WEBHOOKS})


def update_subscription(
    site_id: uuid.UUID | None, key: uuid.UUID, values: Values, **options: Unpack[WriteArgs]
) -> Subscription:
    """Change name, address or kinds of record; deliveries to a new address begin at once. Raises ValidationError."""
    if "address" in values:
        destinations.check_name(values["address"])
    with changing(Subscription, site_id, key, operation="UpdateWebhook", **options) as locked_subscription:
        apply(locked_subscription, values)
        if "address" in values:
            _reset_failures(locked_subscription)
    return locked_subscription


def archive_subscription(subscription: Subscription, *, archived: bool, **options: Unpack[WriteArgs]) -> Subscription:
    """Archive a subscription, or restore it; a restored one also delivers the changes made since it was archived.

    Raises ValidationError if the site has no room for another one. Locks the site's row for that.
    """
    operation = "ArchiveWebhook" if archived else "RestoreWebhook"
    with recording():
        if not archived:
            _lock_with_room(subscription)
        with changing(Subscription, None, subscription.pk, operation=operation, **options) as locked_subscription:
            locked_subscription.is_archived = archived
            _reset_failures(locked_subscription)
    return locked_subscription


def pause(subscription: Subscription, **options: Unpack[WriteArgs]) -> bool:
    """Pause the deliveries; returns whether the subscription was active. Changes made meanwhile are delivered later."""
    with changing(Subscription, None, subscription.pk, operation="PauseWebhook", **options) as locked_subscription:
        was_active = locked_subscription.state == State.ACTIVE
        if was_active:
            locked_subscription.state, locked_subscription.pause_reason = State.PAUSED, options.get("reason", "")[:255]
    return was_active


def resume(subscription: Subscription, **options: Unpack[WriteArgs]) -> None:
    """Resume the deliveries at once, from the change at which they stopped."""
    with changing(Subscription, None, subscription.pk, operation="ResumeWebhook", **options) as locked_subscription:
        locked_subscription.state, locked_subscription.pause_reason = State.ACTIVE, ""
        _reset_failures(locked_subscription)


def rotate_secret(subscription: Subscription, **options: Unpack[WriteArgs]) -> str:
    """Give a subscription a new secret and return it; it is never shown again. The old one also signs for 24 hours.

    If the secret was already replaced within the last 24 hours, the oldest one stops signing, so that at most two
    secrets sign. Locks the row.
    """
    secret, operation = signing.new_secret(), "RotateWebhookSecret"
    notes: list[FieldChange] = [{"field": "secret", "old": "", "new": "rotated"}]
    with changing(
        Subscription, None, subscription.pk, operation=operation, notes=notes, **options
    ) as locked_subscription:
        locked_subscription.former_secret = locked_subscription.secret
        locked_subscription.former_until = now() + OVERLAP
        _give_secret(locked_subscription, secret)
        locked_subscription.secret_shown = now()
    return secret


def show_secret(subscription: Subscription, **options: Unpack[WriteArgs]) -> str:
    """Return the secret of a new subscription; raises ValidationError if it was shown before."""
    notes: list[FieldChange] = [{"field": "secret", "old": "", "new": "shown"}]
    operation = "ShowWebhookSecret"
    with changing(
        Subscription, None, subscription.pk, operation=operation, notes=notes, **options
    ) as locked_subscription:
        if locked_subscription.secret_shown is not None:
            raise refuse(gettext("The secret was shown already. Make a new one."))
        try:
            secret = signing.decrypt(locked_subscription.secret)
        except signing.UnreadableSecretError:
            raise ValidationError(gettext("The secret can no longer be read. Make a new one.")) from None
        locked_subscription.secret_shown = now()
    return secret


def request_test(subscription: Subscription, *, author: Author) -> Delivery:
    """Store that a test message has to be sent; the caller queues the task that sends it."""
    message_id = f"msg_{subscription.pk.hex}_test_{secrets.token_hex(8)}"
    return _ask(subscription, Kind.TEST, None, message_id, author, "TestWebhook")


def request_resend(delivery: Delivery, *, author: Author) -> Delivery:
    """Store that a change's message has to be sent again under the same id, even if the subscription is paused."""
    if delivery.kind == Kind.TEST:
        raise refuse(gettext("A test is not sent again; send another test."))
    number = delivery.number
    return _ask(delivery.subscription, Kind.AGAIN, number, delivery.message_id, author, "SendWebhookAgain")


def _ask(
    subscription: Subscription, kind: Kind, number: int | None, message_id: str, author: Author, operation: str
) -> Delivery:
    notes: list[FieldChange] = [{"field": "message", "old": "", "new": message_id}]
    with changing(
        Subscription, None, subscription.pk, author=author, operation=operation, notes=notes
    ) as locked_subscription:
        if locked_subscription.is_archived:
            raise refuse(gettext("The webhook is archived; restore it first."))
        return Delivery.objects.create(
            subscription=locked_subscription, kind=kind, number=number, message_id=message_id, outcome=Outcome.WAITING
        )


def _give_secret(subscription: Subscription, secret: str) -> None:
    subscription.secret, subscription.secret_hint = signing.encrypt(secret), secret[-4:]
    subscription.secret_made = now()


def _reset_failures(subscription: Subscription) -> None:
    """Reset the failures, so that the next attempt is made at once and the time until a pause begins again."""
    subscription.failing_since, subscription.failures, subscription.next_attempt = None, 0, None
