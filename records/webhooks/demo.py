"""The demo's webhook. It is paused, because its address does not exist, and has one failed attempt to look at."""

from typing import Any

from records.webhooks import actions
from records.webhooks.models import Outcome

ADDRESS = "https://warehouse.example.invalid/larder"
FAULT = "The name of the address could not be resolved."


def fill(place: Any) -> None:
    """Add a paused webhook to the main site; `place` is the site that the demo is filling."""
    if not place.main:
        return
    author = place.author(place.users.get("administrator"))
    values = {"name": "Warehouse", "address": ADDRESS, "entities": ["Complaint", "Item", "Material"]}
    webhook = actions.add_subscription(place.site.pk, values, author=author)
    attempt = actions.request_test(webhook, author=author)
    attempt.outcome, attempt.fault, attempt.duration_ms = Outcome.FAILED, FAULT, 21
    attempt.save()
    actions.pause(webhook, author=author, reason="The demo has no warehouse. Enter an address and resume.")
