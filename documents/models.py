"""Controlled documents, their versions with signers and signatures, and the mails about a version."""

import uuid
from collections.abc import Mapping
from typing import Any, ClassVar

from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts.confirmations import Confirmation
from records.files.models import FileRecord
from records.history.stamps import Step
from records.history.trail import now
from records.history.visibility import MANAGER, READER
from records.sites.models import ChildRow, Entity, SiteRecord, SiteRows, site_record_constraints
from records.sites.text import FreeTextField, LineField


class Status(models.TextChoices):
    """The status of a version (DECISIONS 5)."""

    AWAITING_REVIEW = "Awaiting Review", _("Awaiting Review")
    AWAITING_APPROVAL = "Awaiting Approval", _("Awaiting Approval")
    AWAITING_CHANGE = "Awaiting Change", _("Awaiting Change")
    APPROVED = "Approved", _("Approved")
    ISSUED = "Issued", _("Issued")
    SUPERSEDED = "Superseded", _("Superseded")


IN_FORCE = (Status.APPROVED, Status.ISSUED)
WAITING = (Status.AWAITING_REVIEW, Status.AWAITING_APPROVAL)
FACTS = ("version", "record_status", "file_type", "file_name", "file_size", "file_hash")
"""What a document shows of its newest version, or of the version in force to users who may see only that."""
PENDING = frozenset({*FACTS, "user_to_review", "user_to_approve", "versions", "signers", "signatures"})
"""Fields that change before a version comes into force; only Managers see such a change in the feed."""
FIRST_VERSION, LAST_VERSION = 1, 2_147_483_647


class VersionInForce(models.ForeignObject):  # type: ignore[type-arg]
    """The version in force, which queries join by the document's Id and `effective_version`; it is not a column."""

    def contribute_to_class(self, cls: Any, name: str, private_only: bool = True, **kwargs: Any) -> None:
        """Add the relation for queries only; migrations ignore it, and documents do not load it as an attribute."""
        super().contribute_to_class(cls, name, private_only=True, **kwargs)
        setattr(cls, name, None)


class Document(SiteRecord):
    """A controlled document: its title, who signs it, who is notified, and the data of its newest version.

    The data of the newest version (version, status, file) is copied to the document in the transaction that adds or
    changes the version, so that reads and lists need no join. `effective_version` is the number of the version in
    force.
    """

    ENTITY = Entity.DOCUMENT
    SEEN_WHOLE_WITH = "documents.view_pending_version"
    HISTORY_PRIVATE: ClassVar[Mapping[str, str]] = dict.fromkeys(PENDING, MANAGER)
    SEARCHED: ClassVar[tuple[str, ...]] = ("name", "description", "file_name")
    HISTORY_CHILDREN: ClassVar[tuple[str, ...]] = ("versions", "signers", "signatures")

    name = LineField(blank=False)
    description = FreeTextField()
    record_status = models.CharField("status", max_length=20, choices=Status.choices, editable=False)
    version = models.PositiveIntegerField("newest version", default=FIRST_VERSION, editable=False)
    effective_version = models.PositiveIntegerField("version in force", null=True, blank=True, editable=False)
    in_force = VersionInForce(
        "documents.DocumentVersion",
        models.DO_NOTHING,
        from_fields=("id", "effective_version"),
        to_fields=("document", "version"),
        null=True,
        blank=True,
        editable=False,
        related_name="+",
    )
    file_type = LineField("file type", blank=False, editable=False)
    file_name = LineField("file name", blank=False, editable=False)
    file_size = models.PositiveBigIntegerField("file size", default=0, editable=False)
    file_hash = models.CharField("SHA-256 of the file", max_length=64, editable=False)
    review_date = models.DateTimeField("next review", null=True, blank=True)
    user_to_review = models.ManyToManyField(
        "accounts.User", blank=True, related_name="+", verbose_name="reviewers", db_table="documents_usertoreview"
    )
    user_to_approve = models.ManyToManyField(
        "accounts.User", blank=True, related_name="+", verbose_name="approvers", db_table="documents_usertoapprove"
    )
    user_to_notify = models.ManyToManyField(
        "accounts.User", blank=True, related_name="+", verbose_name="notified users", db_table="documents_usertonotify"
    )
    must_read = models.ManyToManyField(
        "accounts.Role",
        blank=True,
        related_name="+",
        verbose_name="must be read by",
        db_table="documents_mustberead",
        help_text=_("The members of these roles confirm once for each version in force that they have read it."),
    )

    class Meta:
        ordering = ("site_sequence_id", "id")
        constraints = site_record_constraints("document")
        indexes = (
            models.Index(fields=("site", "name"), name="document_by_name"),
            models.Index(fields=("site", "record_status"), name="document_by_status"),
            models.Index(fields=("site", "review_date"), name="document_by_review_date"),
            models.Index(fields=("site", "last_modified"), name="document_by_last_modified"),
        )
        permissions = (
            ("archive_document", "Can archive and restore documents"),
            ("replace_signer", "Can replace a reviewer or approver who is away"),
            ("view_pending_version", "Can view versions that are not in force"),
        )

    def record_role(self) -> str:
        """Return the lowest default role that sees the document: readers do, once a version is in force."""
        return MANAGER if self.effective_version is None else READER

    @classmethod
    def hidden_from(cls, user_id: uuid.UUID) -> models.QuerySet[Any]:
        """Return the documents that an account cannot see if it may see only versions in force.

        No version of these documents is in force, and the account neither uploaded the newest version nor was asked to
        sign it.
        """
        newest = DocumentVersion.of_participant(user_id).filter(document=OuterRef("pk"), version=OuterRef("version"))
        return cls.objects.filter(~Exists(newest), effective_version__isnull=True)


def shown_in_force() -> dict[str, object]:
    """Return annotations with the data of the version in force, or of the newest version if none is in force."""
    return {f"shown_{name}": Coalesce(f"in_force__{name}", name) for name in FACTS}


class DocumentVersion(FileRecord):
    """One file of a document. It is never altered after it is stored; `documents.approvals` changes only its status.

    At most one version of a document is in force, and at most one waits for signatures.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey("sites.Site", models.PROTECT, related_name="+", editable=False)
    document = models.ForeignKey(Document, models.PROTECT, related_name="versions", db_index=False, editable=False)
    version = models.PositiveIntegerField(editable=False)
    record_status = models.CharField("status", max_length=20, choices=Status.choices, editable=False)
    in_force_since = models.DateTimeField(null=True, blank=True, editable=False)
    revision = models.PositiveIntegerField(default=1, editable=False)
    created = models.DateTimeField(default=now, editable=False)
    created_by = models.ForeignKey(
        "accounts.User", models.PROTECT, null=True, blank=True, editable=False, related_name="+", db_index=False
    )

    objects = SiteRows.as_manager()

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = (
        "site",
        "document",
        "path",
        "in_force_since",
        "revision",
        "created",
        "created_by",
    )
    HISTORY_STEPS: ClassVar[tuple[Step, ...]] = (Step("created_by", "created"), Step("", "in_force_since", to=IN_FORCE))

    class Meta:
        ordering = ("version", "id")
        verbose_name = "version"
        constraints = (
            models.UniqueConstraint(fields=("document", "version"), name="version_once_per_document"),
            models.UniqueConstraint(
                fields=("document",), condition=Q(record_status__in=IN_FORCE), name="one_version_in_force"
            ),
            models.UniqueConstraint(
                fields=("document",), condition=Q(record_status__in=WAITING), name="one_version_waits"
            ),
            models.CheckConstraint(condition=Q(file_size__gt=0), name="version_has_a_file"),
        )
        indexes = (
            models.Index(
                fields=("created_by",), condition=Q(record_status=Status.AWAITING_CHANGE), name="version_to_change"
            ),
        )

    def __str__(self) -> str:
        return gettext("version %(number)s") % {"number": self.version}

    @classmethod
    def contradicting(cls) -> dict[str, models.QuerySet[Any]]:
        """Return the versions that are at another site than their document."""
        return {"site": cls._base_manager.exclude(site=F("document__site"))}

    @classmethod
    def of_participant(cls, user_id: uuid.UUID) -> models.QuerySet["DocumentVersion"]:
        """Return the versions that the account uploaded, or that it is or was asked to sign."""
        signers = Signer.objects.filter(version=OuterRef("pk"), user=user_id)
        return cls.objects.filter(Q(created_by=user_id) | Q(Exists(signers)))

    def location(self) -> str:
        """Return the site, document and version to which the file belongs."""
        document = self.document
        number = f"document {document.site_sequence_id} ({document.pk})"
        return f"{document.site}: {number}, version {self.version} ({self.pk})"


class Duty(models.TextChoices):
    """What a signer is asked to do with a version: review or approve it."""

    REVIEW = "Review", _("Review")
    APPROVE = "Approve", _("Approve")


class Meaning(models.TextChoices):
    """The meaning of a signature."""

    REVIEWED = "Reviewed", _("Reviewed")
    APPROVED = "Approved", _("Approved")
    REJECTED = "Rejected", _("Rejected")


class Signature(models.Model):
    """A person's signature: printed name, meaning, time, the file's SHA-256, and how the person was identified."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    document = models.ForeignKey(Document, models.PROTECT, related_name="signatures", editable=False)
    version = models.ForeignKey(DocumentVersion, models.PROTECT, related_name="signatures", editable=False)
    user = models.ForeignKey("accounts.User", models.PROTECT, related_name="+", editable=False)
    user_name = LineField("printed name", blank=False, editable=False)
    meaning = models.CharField(max_length=10, choices=Meaning.choices, editable=False)
    comment = FreeTextField(editable=False)
    date = models.DateTimeField(default=now, editable=False)
    file_hash = models.CharField("SHA-256 of the file", max_length=64, editable=False)
    confirmed_by = models.CharField(
        "how the signer confirmed who they are",
        max_length=20,
        choices=Confirmation.choices,
        default=Confirmation.PASSWORD,
        db_default=Confirmation.PASSWORD,
        editable=False,
    )

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("document",)

    class Meta:
        ordering = ("date", "id")
        constraints = (
            models.UniqueConstraint(fields=("version", "user", "meaning"), name="signature_once_per_meaning"),
        )

    def __str__(self) -> str:
        return f"{self.meaning} by {self.user_name}"


class Signer(ChildRow):
    """A person who is asked to review or approve one version, with the signature once it is given."""

    document = models.ForeignKey(Document, models.PROTECT, related_name="signers", editable=False)
    version = models.ForeignKey(DocumentVersion, models.PROTECT, related_name="signers", db_index=False, editable=False)
    user = models.ForeignKey("accounts.User", models.PROTECT, related_name="+")
    duty = models.CharField(max_length=10, choices=Duty.choices, editable=False)
    signature = models.OneToOneField(
        Signature, models.PROTECT, null=True, blank=True, related_name="signer", editable=False
    )

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("document", "idx", "signature")

    class Meta:
        ordering = ("duty", "idx", "id")
        constraints = (
            models.UniqueConstraint(fields=("version", "duty", "user"), name="signer_once_per_version_and_duty"),
        )

    def __str__(self) -> str:
        return f"{self.duty} by {self.user}"

    @property
    def history_site_id(self) -> uuid.UUID:
        """Return the site whose history contains the document's changes."""
        return self.document.site_id

    @classmethod
    def contradicting(cls) -> dict[str, models.QuerySet[Any]]:
        """Return the signers with somebody else's signature, and those without the one that they gave."""
        own_signature = Q(signature__version=F("version"), signature__user=F("user")) & (
            Q(signature__meaning=Meaning.REJECTED)
            | Q(duty=Duty.REVIEW, signature__meaning=Meaning.REVIEWED)
            | Q(duty=Duty.APPROVE, signature__meaning=Meaning.APPROVED)
        )
        lost = Signature.objects.filter(version=OuterRef("version"), user=OuterRef("user"), signer=None)
        wrong_signature = Q(signature__isnull=False) & ~own_signature
        return {"signature": cls._base_manager.filter(wrong_signature | Q(Exists(lost), signature=None))}

    @property
    def asks(self) -> str:
        """Return what the person is asked to do, for lists and mails."""
        text = gettext("Approve the document %(document)s, version %(version)s")
        if self.duty == Duty.REVIEW:
            text = gettext("Review the document %(document)s, version %(version)s")
        return text % {"document": self.version.document.name, "version": self.version.version}


class Reading(models.Model):
    """A person's confirmation of having read a version: printed name, time, and the file's SHA-256 (DECISIONS 12.4).

    It is written once and never altered. Its Change records "I have read and understood" in the history.
    """

    HISTORY_PROVES_ROWS: ClassVar[bool] = True
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("site",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey("sites.Site", models.PROTECT, related_name="+", editable=False)
    document = models.ForeignKey(Document, models.PROTECT, related_name="readings", editable=False)
    version = models.ForeignKey(
        DocumentVersion, models.PROTECT, related_name="readings", db_index=False, editable=False
    )
    user = models.ForeignKey("accounts.User", models.PROTECT, related_name="+", editable=False)
    user_name = LineField("printed name", blank=False, editable=False)
    date = models.DateTimeField(default=now, editable=False)
    file_hash = models.CharField("SHA-256 of the file", max_length=64, editable=False)

    class Meta:
        ordering = ("date", "id")
        default_permissions = ("view",)
        constraints = (models.UniqueConstraint(fields=("version", "user"), name="reading_once_per_version"),)

    def __str__(self) -> str:
        return f"{self.document}, {self.version}: read by {self.user_name}"


class ControlledPrint(models.Model):
    """A numbered paper copy of a version in force: who printed it and when, and the file's SHA-256.

    Copies of each version are numbered from 1 without gaps. Each row is written once and never altered.
    """

    HISTORY_PROVES_ROWS: ClassVar[bool] = True
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("site",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey("sites.Site", models.PROTECT, related_name="+", editable=False)
    document = models.ForeignKey(Document, models.PROTECT, related_name="+", editable=False)
    version = models.ForeignKey(DocumentVersion, models.PROTECT, related_name="prints", db_index=False, editable=False)
    number = models.PositiveIntegerField("copy number", editable=False)
    user = models.ForeignKey("accounts.User", models.PROTECT, related_name="+", editable=False)
    user_name = LineField("printed name", blank=False, editable=False)
    date = models.DateTimeField(default=now, editable=False)
    file_hash = models.CharField("SHA-256 of the file", max_length=64, editable=False)

    class Meta:
        ordering = ("version", "number")
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=("version", "number"), name="copy_number_once_per_version"),)

    def __str__(self) -> str:
        return f"{self.document}, {self.version}: copy {self.number}"


class Notice(models.Model):
    """One mail about a version to one person; it is kept with its outcome, so that the mail is sent once.

    `documents.tasks` sends it. A worker that takes a notice first sets `due` to a later time, so that no other worker
    sends the notice as well. If that worker is killed, the notice becomes due again. `dismissed` is when the person
    dismissed the notice of a rejection (`documents.rejections`).
    """

    class Kind(models.TextChoices):
        """The reason for the mail."""

        REVIEW = "Review", _("Asked to review")
        APPROVE = "Approve", _("Asked to approve")
        IN_FORCE = "In force", _("A version came into force")
        READ = "Read", _("Asked to read")
        REJECTED = "Rejected", _("A version was rejected")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    version = models.ForeignKey(DocumentVersion, models.PROTECT, related_name="notices", db_index=False)
    user = models.ForeignKey("accounts.User", models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    created = models.DateTimeField(default=now)
    due = models.DateTimeField(default=now)
    attempts = models.PositiveIntegerField(default=0)
    sent = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=255, blank=True)
    dismissed = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created", "id")
        constraints = (models.UniqueConstraint(fields=("version", "user", "kind"), name="notice_once_per_version"),)
        indexes = (models.Index(fields=("due",), condition=Q(sent__isnull=True), name="notice_unsent_by_due"),)

    def __str__(self) -> str:
        return f"{self.kind}: {self.version} to {self.user}"
