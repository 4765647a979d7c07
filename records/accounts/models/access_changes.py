"""Marks by which a process sees in one look whether anybody's access has changed."""

from typing import ClassVar

from django.db import models

from records.history.trail import now


class AccessChange(models.Model):
    """A mark that the access of a user, or at a site, has changed: granted, changed or ended.

    The sum of an owner's stamps is its **access version**. Whoever remembers what a caller may do remembers the version
    too, and compares it in the statement whose answer the caller is given. Triggers of the database write the marks
    (`records/accounts/access_triggers.py`), so that no writer can forget one; marks are only added, so that writers
    never wait for each other; stamps are random, so that no rollback and no restored backup brings an old version back
    for other rights. Marks are not records and leave no Change.
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
