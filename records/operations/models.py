"""What the processes of an installation tell each other: that they live."""

from django.db import models


class Heartbeat(models.Model):
    """When a worker last said that it lives, or when a regular job was last begun."""

    name = models.CharField(max_length=100, primary_key=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name = "heartbeat"

    def __str__(self) -> str:
        return self.name
