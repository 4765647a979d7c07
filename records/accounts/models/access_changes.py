"""Marks by which a process notices, in one query, that somebody's access has changed."""

from typing import ClassVar

from django.db import models

from records.history.trail import now


class AccessChange(models.Model):
    """A mark that access has been granted, changed or ended, for a user or at a site.

    The sum of an owner's stamps is its **access version**. A process that remembers what a caller may do also remembers
    the version, and compares it in the statement that reads the answer for the caller. Database triggers write the
    marks (`records/accounts/access_triggers.py`), so that no code path can forget one. A write only adds marks, so that
    writers never wait for each other; marks that newer ones follow are removed later. Stamps are random, so that after
    a rollback or a restored backup an old version never matches different permissions.

    Marks are not records and leave no Change.
    """

    id = models.BigAutoField(primary_key=True)
    owner_id = models.UUIDField()
    stamp = models.BigIntegerField()
    at = models.DateTimeField(default=now)

    class Meta:
        default_permissions = ()
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=("owner_id", "stamp"), name="access_version")]

    def __str__(self) -> str:
        return f"{self.owner_id}: {self.stamp}"
