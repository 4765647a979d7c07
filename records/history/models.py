"""The tables of the history: every change that was ever made, and the head of each site's chain."""

import uuid
from typing import Any, NoReturn, Self

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q
from django.db.models.functions import Cast
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

INSTALLATION = uuid.UUID(int=0)
"""The chain of the changes that belong to no site, such as those of shared lists and accounts."""


class ImmutableError(Exception):
    """Raised when code tries to edit or delete a Change."""


class Channel(models.TextChoices):
    """The interface by which a change was made."""

    JSON = "API", _("API")
    SCIM = "SCIM", _("SCIM")
    BACKOFFICE = "Back-office", _("Back-office")
    IMPORT = "Import", pgettext_lazy("a channel", "Import")
    SYSTEM = "System", _("System")


class ChangeQuerySet(models.QuerySet["Change"]):
    """Queries that only read: the product never edits or deletes the history."""

    def naming(self, key: str, value: str) -> Self:
        """Return the changes with an entry in `fields` whose value for the key begins with the text."""
        return self.annotate(text=Cast("fields", models.TextField())).filter(text__contains=f'"{key}": "{value}')

    def update(self, **kwargs: Any) -> NoReturn:
        """Refuse: a Change is never edited."""
        raise ImmutableError("A change cannot be edited.")

    def delete(self) -> NoReturn:
        """Refuse: a Change is never deleted."""
        raise ImmutableError("A change cannot be deleted.")


class Change(models.Model):
    """One write to one record: when, where, by whom, by which interface, why, and each field's old and new value.

    A Change is kept longer than users and records, so author and record are plain ids with the name that they had then.
    `number` counts 1, 2, 3… in each site. `hash` covers the row and `previous_hash`, so that a lost or altered row is
    noticed (see `records.history.digests`).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey("sites.Site", models.PROTECT, null=True, blank=True, related_name="+", db_index=False)
    chain = models.UUIDField(default=INSTALLATION, editable=False)
    number = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    author_id = models.UUIDField(null=True, blank=True)
    author_name = models.CharField(max_length=255, blank=True)
    channel = models.CharField(max_length=20, choices=Channel.choices)
    credential = models.CharField(max_length=255, blank=True, help_text=_("Name of the key or token that was used."))
    operation = models.CharField(max_length=100)
    reason = models.TextField(blank=True)
    model = models.CharField(max_length=100, help_text=_("Kind of record, as app.Model."))
    record_id = models.UUIDField()
    record_name = models.CharField(max_length=512, blank=True)
    fields = models.JSONField(default=list, encoder=DjangoJSONEncoder)
    salts = models.JSONField(
        default=list, db_default=[], help_text=_("One text for each value that the digest covers.")
    )
    lowest_role = models.CharField(
        max_length=20,
        blank=True,
        default="",
        db_default="",
        help_text=_("The lowest default role that may see the change; empty for none."),
    )
    request_id = models.CharField(max_length=64, blank=True)
    digest_version = models.PositiveSmallIntegerField(default=1, db_default=1)
    previous_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)

    counts: str = ""
    """While the change is pending: the field of a new record whose value the database will set."""
    lines: str = ""
    """While the change is pending: the result of `lines_of`, if it is known before the number of the change."""

    objects = ChangeQuerySet.as_manager()

    class Meta:
        ordering = ("-at", "-number", "id")
        constraints = (models.UniqueConstraint(fields=("chain", "number"), name="change_number_once_per_chain"),)
        permissions = (("follow_change", "Can follow the feed of changes"),)
        indexes = (
            models.Index(fields=("record_id", "-number"), name="change_of_record"),
            models.Index(fields=("author_id", "-at"), name="change_of_author"),
            models.Index(fields=("site", "-at"), name="change_of_site"),
            # The few changes that set or lift legal holds, and that erased personal data (`records.retention`).
            models.Index(
                fields=("site", "-number"),
                condition=Q(operation__in=("SetLegalHold", "LiftLegalHold")),
                name="change_of_legal_hold",
            ),
            models.Index(
                fields=("site", "-at"),
                condition=Q(operation__in=("EraseConsumer", "EraseContact", "ErasePrivateFacts")),
                name="change_of_erasure",
            ),
            # Those of saved filters, also of removed ones, which an erasure reads.
            models.Index(fields=("site",), condition=Q(model="backoffice.SavedFilter"), name="change_of_saved_filter"),
        )

    def __str__(self) -> str:
        return f"{self.number}: {self.operation} {self.record_name}"

    def save(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: changes are written by `recording` alone, in bulk."""
        raise ImmutableError("A change is written by the trail alone.")

    def delete(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: a Change is never deleted."""
        raise ImmutableError("A change cannot be deleted.")


class ChainHead(models.Model):
    """The last number and hash of one site's chain of changes. The lock on this row orders the writers of a site."""

    chain = models.UUIDField(primary_key=True, default=INSTALLATION)
    number = models.PositiveBigIntegerField(default=0)
    previous = models.CharField(max_length=64, blank=True, default="", db_default="")
    """The hash before the last one, which a statement that appends a change could not return otherwise."""
    hash = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.chain}: {self.number}"


class Proof(models.Model):
    """One verification of the whole history: when it ran, how many changes it read, and which faults it found."""

    at = models.DateTimeField()
    changes = models.PositiveBigIntegerField()
    faults = models.PositiveIntegerField()
    named = models.JSONField(null=True)
    """The first faults, each as the id of its chain and a sentence; None in a row of an earlier release."""

    class Meta:
        ordering = ("-at", "-id")
        indexes = (models.Index(fields=("-at", "-id"), name="proof_newest_first"),)

    def __str__(self) -> str:
        return f"{self.at}: {self.faults} fault(s)"
