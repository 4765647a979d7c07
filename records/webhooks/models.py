"""Subscriptions to the changes of a site, and each attempt to deliver a message."""

import uuid
from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from records.history.trail import now
from records.sites.models import SiteRows
from records.sites.text import LineField


class State(models.TextChoices):
    """Whether changes are delivered."""

    ACTIVE = "Active", _("Active")
    PAUSED = "Paused", _("Paused")


class Subscription(models.Model):
    """An address to which the changes of a site are delivered, in the order of their numbers.

    Every change up to the number `position` was delivered, or was not for this subscription. Only the worker that holds
    the claim delivers. The claim of a worker that was killed expires at `claimed_until`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey("sites.Site", models.PROTECT, related_name="+", db_index=False)
    name = LineField(blank=False, help_text=_("What receives the changes, such as “Warehouse”."))
    address = models.CharField(
        max_length=2000, help_text=_("Where the changes are sent, such as https://warehouse.example.com/larder.")
    )
    entities = models.JSONField(
        "kinds of record",
        default=list,
        blank=True,
        help_text=_("Only changes of these kinds are sent. Choose none to send all."),
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE, editable=False)
    pause_reason = models.CharField(max_length=255, blank=True, editable=False)
    is_archived = models.BooleanField("archived", default=False)

    secret = models.TextField(editable=False, help_text=_("Encrypted with a key that is derived from SECRET_KEY."))
    secret_hint = models.CharField(max_length=8, editable=False)
    secret_made = models.DateTimeField(default=now, editable=False)
    secret_shown = models.DateTimeField(null=True, blank=True, editable=False)
    former_secret = models.TextField(blank=True, editable=False, help_text=_("Also signs until `former_until`."))
    former_until = models.DateTimeField(null=True, blank=True, editable=False)

    position = models.PositiveBigIntegerField(default=0, editable=False)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False, help_text=_("Attempts since the last success."))
    next_attempt = models.DateTimeField(null=True, blank=True, editable=False)
    claim = models.UUIDField(null=True, blank=True, editable=False)
    claimed_until = models.DateTimeField(null=True, blank=True, editable=False)
    delivered = models.PositiveBigIntegerField(default=0, editable=False, help_text=_("Deliveries so far."))
    failed = models.PositiveBigIntegerField(default=0, editable=False, help_text=_("Attempts so far that failed."))

    created = models.DateTimeField(default=now, editable=False)
    last_modified = models.DateTimeField(default=now, editable=False)

    objects = SiteRows.as_manager()

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = (
        *("secret", "secret_hint", "secret_made", "secret_shown", "former_secret", "former_until"),
        *("position", "failing_since", "failures", "next_attempt", "claim", "claimed_until", "delivered", "failed"),
        *("created", "last_modified"),
    )

    class Meta:
        ordering = ("name", "id")
        verbose_name = "webhook"
        default_permissions = ("view", "add", "change")
        indexes = (models.Index(fields=("site", "name"), name="subscription_of_site"),)

    def __str__(self) -> str:
        return self.name


class Kind(models.TextChoices):
    """Why a message was sent."""

    CHANGE = "Change", _("Change")
    AGAIN = "Again", _("Sent again")
    TEST = "Test", _("Test")


class Outcome(models.TextChoices):
    """How an attempt ended."""

    WAITING = "Waiting", _("Waiting for the worker")
    DELIVERED = "Delivered", _("Delivered")
    FAILED = "Failed", _("Failed")


class Delivery(models.Model):
    """One attempt to deliver a message: the change, the time and the receiver's answer. It is kept for 30 days."""

    id = models.BigAutoField(primary_key=True)
    subscription = models.ForeignKey(
        Subscription, models.CASCADE, related_name="+", db_index=False, verbose_name="webhook"
    )
    kind = models.CharField(max_length=10, choices=Kind.choices)
    number = models.PositiveBigIntegerField("change", null=True, blank=True)
    message_id = models.CharField(max_length=100)
    at = models.DateTimeField(default=now)
    attempt = models.PositiveIntegerField(default=1)
    outcome = models.CharField(max_length=10, choices=Outcome.choices)
    status = models.PositiveSmallIntegerField(null=True, blank=True, help_text=_("The status of the answer."))
    fault = models.CharField(max_length=255, blank=True, help_text=_("Why the attempt failed, in plain words."))
    answer = models.TextField(blank=True, help_text=_("The beginning of the answer's body, without secrets."))
    duration_ms = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        verbose_name = "webhook delivery"
        verbose_name_plural = "webhook deliveries"
        default_permissions = ("view",)
        indexes = (
            models.Index(fields=("subscription", "-id"), name="delivery_of_subscription"),
            models.Index(fields=("at",), name="delivery_by_time"),
        )

    def __str__(self) -> str:
        return self.message_id
