"""Attributes that a directory sent and that have no column, in the form in which filters find them."""

from typing import ClassVar

from django.db import models

START = 100


class UserAttribute(models.Model):
    """One part of an attribute that a directory sent and that has no column, under its comparison key.

    `User.directory_attributes` keeps the attributes as they were sent; only `records.accounts.provisioning` writes
    both, always together. `attribute` and `part` are names in lower case, `idx` counts a list's entries, and `start` is
    the beginning of the key, short enough for an index.
    """

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey("accounts.User", models.CASCADE, related_name="attributes", db_index=False)
    attribute = models.CharField(max_length=120)
    idx = models.PositiveIntegerField("position", default=0)
    part = models.CharField(max_length=40, blank=True)
    start = models.CharField(max_length=START)
    key = models.TextField()

    class Meta:
        ordering = ("user", "attribute", "idx", "part")
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=("user", "attribute", "idx", "part"), name="attribute_part_once_per_user")
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=("attribute", "part", "start"), name="attribute_by_key")
        ]

    def __str__(self) -> str:
        return f"{self.attribute}.{self.part}".rstrip(".")
