"""Delivers the changes to receivers: in the order of the feed, each at least once.

One worker at a time delivers to a subscription. It records a row as delivered after the receiver has accepted it. If
the worker is killed in between, its claim expires, and another worker sends the row again under the same id.
"""

import datetime
import logging
import random
import time
import uuid
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError
from django.db.models import F, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Now

from records.changes import feed
from records.history.models import ChainHead, Change, Channel
from records.history.trail import Author, now, recording
from records.webhooks import actions, messages, sending, signing
from records.webhooks.models import Delivery, Kind, Outcome, State, Subscription
from records.webhooks.notices import notify_administrators

logger = logging.getLogger("larder.webhooks")

DELIVERER = Author(None, "Webhook deliverer", Channel.SYSTEM)
LEASE = datetime.timedelta(seconds=50)
"""How long a claim lasts if its worker does not renew it.

Longer than any attempt takes, yet short enough for another worker to continue within a minute.
"""
SLICE_SECONDS = 10.0
"""How long a worker delivers to one subscription before the others have their turn."""
BATCH = 100
FIRST_DELAY = datetime.timedelta(seconds=5)
LONGEST_DELAY = datetime.timedelta(hours=3)
GIVES_UP_AFTER = datetime.timedelta(days=3)
"""How long deliveries may fail before the subscription is paused."""

_IS_FREE = Q(claimed_until__isnull=True) | Q(claimed_until__lt=Now())
Clock = Callable[[], datetime.datetime]


def _live() -> QuerySet[Subscription]:
    return Subscription.objects.filter(state=State.ACTIVE, is_archived=False, site__is_archived=False)


def behind() -> QuerySet[Subscription]:
    """Return the active subscriptions whose site has changes beyond their position."""
    newest = ChainHead.objects.filter(chain=OuterRef("site_id")).values("number")[:1]
    return _live().filter(position__lt=Subquery(newest))


def backlog_since() -> datetime.datetime | None:
    """Return the time of the oldest change that an active subscription still has to get; None if there is none."""
    next_changes = Change.objects.filter(chain=OuterRef("site_id"), number=OuterRef("position") + 1)
    oldest: datetime.datetime | None = behind().aggregate(at=Min(Subquery(next_changes.values("at")[:1])))["at"]
    return oldest


def due(moment: datetime.datetime) -> QuerySet[Subscription]:
    """Return the subscriptions that have something to deliver now and that no worker has claimed."""
    return behind().filter(_IS_FREE, Q(next_attempt__isnull=True) | Q(next_attempt__lte=moment))


def deliver_to(key: uuid.UUID, *, clock: Clock = now, seconds: float = SLICE_SECONDS) -> int:
    """Deliver to one subscription unless another worker does; return how many messages the receiver accepted.

    No message is begun after `seconds`, but the last one may still take the full time of an attempt.
    """
    claim = uuid.uuid4()
    # If another worker was faster, the database checks the condition on the row itself again, but not one on a join.
    free_subscription = Subscription.objects.filter(_IS_FREE, pk=key)
    if not due(clock()).filter(pk=key).exists() or not free_subscription.update(
        claim=claim, claimed_until=Now() + LEASE
    ):
        return 0
    try:
        with closing(sending.Connection()) as connection:
            return _Turn(key, claim, clock, connection, seconds).run()
    finally:
        with suppress(DatabaseError):
            Subscription.objects.filter(pk=key, claim=claim).update(claim=None, claimed_until=None)


@dataclass
class _Turn:
    """One worker's deliveries to one subscription, on one connection, until its claim expires."""

    key: uuid.UUID
    claim: uuid.UUID
    clock: Clock
    connection: sending.Connection
    seconds: float = SLICE_SECONDS

    def run(self) -> int:
        """Deliver row after row; return how many the receiver accepted."""
        count, ends = 0, time.monotonic() + self.seconds
        while (subscription := self._if_still_claimed()) is not None:
            last = feed.last_number(subscription.site_id)
            rows = messages.rows(
                subscription.site_id, after=subscription.position, up_to=last, limit=BATCH, only=subscription.entities
            )
            for row in rows:
                current = self._if_still_claimed()
                # If somebody changed the webhook meanwhile, the change applies from the next row on.
                if current is None or current.entities != subscription.entities or not self._deliver(current, row):
                    return count
                count += 1
                if time.monotonic() > ends:
                    return count
            if len(rows) < BATCH:
                # What was added after somebody chose other kinds of record must not be passed over by the former ones.
                self._own_rows().filter(position__lt=last, entities=subscription.entities).update(position=last)
                return count
        return count

    def _own_rows(self) -> QuerySet[Subscription]:
        return Subscription.objects.filter(pk=self.key, claim=self.claim)

    def _if_still_claimed(self) -> Subscription | None:
        """Return the subscription as it is now; None if it is paused or another worker has claimed it."""
        return _live().filter(pk=self.key, claim=self.claim).first()

    def _deliver(self, subscription: Subscription, row: dict[str, Any]) -> bool:
        """Send one row and store the outcome; return whether the next row may follow."""
        number = int(row["Number"])
        try:
            keys = secrets_of(subscription, self.clock())
        except signing.UnreadableSecretError:
            self._pause(subscription, "The secret cannot be read with the present SECRET_KEY. Make a new one.")
            return False
        attempt = Delivery(
            subscription=subscription,
            kind=Kind.CHANGE,
            number=number,
            message_id=messages.id_of(subscription, number),
            attempt=subscription.failures + 1,
        )
        answer = send(attempt, messages.body_of(row), keys, self.clock(), self.connection)
        with recording():
            attempt.save(force_insert=True)
            if answer.is_success:
                return bool(
                    self._own_rows().update(
                        position=number,
                        failing_since=None,
                        failures=0,
                        next_attempt=None,
                        delivered=F("delivered") + 1,
                        claimed_until=Now() + LEASE,
                    )
                )
            self._note_failure(subscription, answer)
            return False

    def _note_failure(self, subscription: Subscription, answer: sending.Answer) -> None:
        moment = self.clock()
        since = subscription.failing_since or moment
        failures = subscription.failures + 1
        wait = datetime.timedelta(seconds=answer.retry_after)
        next_attempt = min(moment + max(delay_after(failures), wait), max(since + GIVES_UP_AFTER, moment))
        logger.warning("A webhook could not be delivered: %s", answer.fault, extra={"detail": str(subscription.pk)})
        self._own_rows().update(failed=F("failed") + 1)
        # If somebody entered another address or resumed the deliveries meanwhile, the next attempt is made at once.
        current = self._own_rows().filter(
            address=subscription.address, failures=subscription.failures, failing_since=subscription.failing_since
        )
        if not current.update(failing_since=since, failures=failures, next_attempt=next_attempt):
            return
        if answer.is_gone:
            self._pause(subscription, "The receiver answered 410 Gone: it wants no more messages.")
        elif moment - since >= GIVES_UP_AFTER:
            self._pause(subscription, f"No delivery has succeeded for {GIVES_UP_AFTER.days} days. {answer.fault}")

    def _pause(self, subscription: Subscription, reason: str) -> None:
        with recording():
            if actions.pause(subscription, author=DELIVERER, reason=reason):
                notify_administrators(subscription, reason)


def delay_after(failures: int) -> datetime.timedelta:
    """Return how long to wait after this number of failures: 5 seconds, doubled each time up to 3 hours, ± 20 %."""
    delay = min(FIRST_DELAY * 2 ** min(failures - 1, 20), LONGEST_DELAY)
    return delay * random.uniform(0.8, 1.2)  # noqa: S311 (spreads attempts, guards nothing)


def secrets_of(subscription: Subscription, moment: datetime.datetime) -> list[str]:
    """Return the secrets that sign at present, newest first; raises UnreadableSecretError."""
    secrets = [signing.decrypt(subscription.secret)]
    if subscription.former_until is not None and moment < subscription.former_until:
        with suppress(signing.UnreadableSecretError):
            secrets.append(signing.decrypt(subscription.former_secret))
    return secrets


def send(
    attempt: Delivery, body: bytes, keys: list[str], moment: datetime.datetime, connection: sending.Connection
) -> sending.Answer:
    """Send a message, set the outcome on the attempt, and return the answer; stores nothing."""
    headers = signing.headers_of(keys, attempt.message_id, moment, body)
    answer = connection.post(attempt.subscription.address, body, headers)
    attempt.at, attempt.status, attempt.fault = moment, answer.status, answer.fault
    attempt.answer = signing.without_secrets(answer.body, keys)
    attempt.duration_ms = answer.duration_ms
    attempt.outcome = Outcome.DELIVERED if answer.is_success else Outcome.FAILED
    return answer


def send_requested(key: int) -> bool:
    """Make the attempt that a person asked for; return whether the receiver accepted it. The position stays."""
    attempt = Delivery.objects.select_related("subscription").filter(pk=key, outcome=Outcome.WAITING).first()
    if attempt is None:
        return False
    subscription, fault = attempt.subscription, ""
    row = messages.row_of(subscription, attempt.number) if attempt.number else None
    try:
        keys = secrets_of(subscription, now())
    except signing.UnreadableSecretError:
        fault = "The secret cannot be read with the present SECRET_KEY. Make a new one."
    if attempt.number and row is None:
        fault = "A Reader of the site does not see this change any more."
    if fault:
        attempt.outcome, attempt.fault = Outcome.FAILED, fault
    else:
        body = messages.test_body(subscription) if row is None else messages.body_of(row)
        with closing(sending.Connection()) as connection:
            send(attempt, body, keys, now(), connection)
    with recording():
        attempt.save(force_update=True)
        is_success = attempt.outcome == Outcome.DELIVERED
        counter = "delivered" if is_success else "failed"
        Subscription.objects.filter(pk=subscription.pk).update(**{counter: F(counter) + 1})
    return is_success
