"""Stored answers, for callers who repeat a request with an Idempotency-Key (DECISIONS 1.14)."""

from django.db import models

from records.history.trail import now


class KeptAnswer(models.Model):
    """The answer to the first request with an Idempotency-Key, stored in the same transaction as its write."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey("accounts.User", models.CASCADE, related_name="+", db_index=False)
    site = models.ForeignKey("sites.Site", models.CASCADE, related_name="+", db_index=False)
    operation = models.CharField(max_length=100)
    key = models.CharField(max_length=255)
    body_digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    answer = models.BinaryField(default=b"")
    etag = models.CharField(max_length=50, blank=True, default="")
    created = models.DateTimeField(default=now, db_index=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("user", "site", "operation", "key"), name="answer_once_per_key"),
        )

    def __str__(self) -> str:
        return f"{self.operation} {self.key}"
