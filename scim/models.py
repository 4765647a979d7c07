"""The provisioning log: the recent requests of directories and their outcomes."""

import uuid

from django.db import models

from records.history.trail import now


class ProvisioningCall(models.Model):
    """One request of a directory: its time, token, content, outcome and reason; it is kept for 30 days.

    Values that may name a person are left out: only the shape of a body and the operators of a filter are kept.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(default=now)
    directory = models.ForeignKey("accounts.Directory", models.CASCADE, null=True, related_name="+", db_index=False)
    token = models.ForeignKey(
        "accounts.ProvisioningToken", models.SET_NULL, null=True, related_name="+", db_index=False
    )
    token_name = models.CharField("token", max_length=255, blank=True)
    method = models.CharField(max_length=10)
    line = models.CharField("request", max_length=500)
    status = models.PositiveSmallIntegerField()
    outcome = models.CharField(max_length=1000, blank=True)
    body = models.TextField(blank=True)
    request_id = models.UUIDField(default=uuid.uuid4)
    duration_ms = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("-at", "-id")
        verbose_name = "provisioning call"
        verbose_name_plural = "provisioning log"
        default_permissions = ("view",)
        indexes = (
            models.Index(fields=("directory", "-at"), name="call_of_directory"),
            models.Index(fields=("at",), name="call_by_time"),
        )

    def __str__(self) -> str:
        return f"{self.method} {self.line}: {self.status}"
