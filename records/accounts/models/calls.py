"""The recent calls of keys, which their owners see on the profile page."""

from typing import ClassVar

from django.db import models

from records.accounts.models.credentials import SubscriptionKey


class KeyCall(models.Model):
    """One request with a subscription key: when, which operation, its status and its duration.

    No body, address or person is stored, and only the newest calls of a key for a week (`records/accounts/calls.py`).
    Calls are not records and leave no Change.
    """

    id = models.BigAutoField(primary_key=True)
    # The database has no constraint here: checking it would lock the key's row at every write of calls.
    key = models.ForeignKey(SubscriptionKey, models.CASCADE, related_name="calls", db_constraint=False, db_index=False)
    at = models.DateTimeField()
    operation = models.CharField(max_length=100)
    status = models.PositiveSmallIntegerField()
    duration_ms = models.FloatField()
    request_id = models.UUIDField()

    class Meta:
        ordering = ("-at", "-id")
        default_permissions = ()
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=("key", "id"), name="call_of_key")]

    def __str__(self) -> str:
        return f"{self.operation}: {self.status}"
