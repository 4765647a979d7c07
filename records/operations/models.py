"""What the processes of an installation share: their heartbeats."""

from django.db import models


class Heartbeat(models.Model):
    """When a worker had its last heartbeat, or when a regular job was last started."""

    name = models.CharField(max_length=100, primary_key=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name = "heartbeat"

    def __str__(self) -> str:
        return self.name
