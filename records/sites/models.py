"""Site, EntityFolder, SiteSequence, and SiteRecord, the base class of every record."""

import uuid
import zoneinfo
from collections.abc import Iterable
from typing import ClassVar, Self, TypeVar

from django.contrib.auth import get_permission_codename
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.history.digests import FieldChange
from records.history.stamps import Step
from records.history.trail import now
from records.history.visibility import READER
from records.sites.text import LineField, fault_at, fold


def is_time_zone(value: str) -> None:
    """Raise ValidationError unless the value is a time zone of the IANA database."""
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValidationError(
            gettext("This is not a time zone name such as Europe/London."), code="InvalidValue"
        ) from None


class Entity(models.TextChoices):
    """The kinds of record that have their own numbers, and most of them folders."""

    EMPLOYEE = "employee", _("Employees")
    JOB_DESCRIPTION = "jobdescription", _("Job descriptions")
    COMPLAINT = "complaint", _("Complaints")
    DOCUMENT = "document", _("Documents")
    ITEM = "item", _("Items")
    CUSTOMER = "customer", _("Customers")
    AUDIT_PROGRAM = "audit", _("Audit programs")
    AUDIT_RECORD = "auditrecord", _("Audit records")
    MATERIAL = "material", _("Materials")
    ACTION = "action", _("Actions")
    ATTACHMENT = "attachment", _("Attachments")


FOLDER_ENTITIES = tuple(entity for entity in Entity if entity not in (Entity.ACTION, Entity.ATTACHMENT))
"""The kinds that are kept in folders."""


class Site(models.Model):
    """One place of the organisation, such as a plant; every record belongs to one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = LineField(blank=False, unique=True)
    code = LineField()
    time_zone = LineField(default="UTC", blank=False, validators=[is_time_zone])
    demands_approver = models.BooleanField(
        "every document needs an approver",
        default=False,
        help_text=_("Refuse a document if nobody is asked to approve it."),
    )
    is_archived = models.BooleanField("archived", default=False)
    created = models.DateTimeField(default=now, editable=False)
    last_modified = models.DateTimeField(default=now, editable=False)

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("created", "last_modified")

    class Meta:
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name

    @property
    def history_site_id(self) -> uuid.UUID:
        """Return the site itself, whose history contains its changes."""
        return self.pk


M = TypeVar("M", bound=models.Model)


class SiteRows(models.QuerySet[M]):
    """The rows of a model that belong to sites. Every query about the rows of one site begins with `at`."""

    def at(self, site: Site | uuid.UUID | None) -> Self:
        """Return the rows of the site, which is given as a Site or its Id; none if no site is given."""
        return self.filter(site_id=site.pk if isinstance(site, Site) else site)


class EntityFolder(models.Model):
    """A folder for records of one kind; each site has one tree per kind."""

    HISTORY_PROVES_ROWS: ClassVar[bool] = True

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey(Site, models.PROTECT, related_name="folders")
    entity = models.CharField(max_length=20, choices=Entity.choices)
    name = LineField(blank=False)
    parent = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="children")
    idx = models.IntegerField("position", default=0)
    is_archived = models.BooleanField("archived", default=False)
    created = models.DateTimeField(default=now, editable=False)
    last_modified = models.DateTimeField(default=now, editable=False)

    objects = SiteRows.as_manager()

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("created", "last_modified")
    LOCKED_WHOLE: ClassVar[bool] = True
    """A change waits for writers who are just adding a record to the folder, and they wait for it."""

    class Meta:
        ordering = ("idx", "name", "id")
        verbose_name = "folder"
        constraints = (
            models.UniqueConstraint(
                Lower("name"),
                "parent",
                condition=models.Q(is_archived=False, parent__isnull=False),
                name="folder_name_once_per_parent",
            ),
            models.UniqueConstraint(
                Lower("name"),
                "site",
                "entity",
                condition=models.Q(is_archived=False, parent__isnull=True),
                name="top_folder_name_once_per_entity",
            ),
        )

    def __str__(self) -> str:
        return self.name

    def history_role(self, changed: Iterable[FieldChange]) -> str:
        """Return the lowest default role that may see the change: every reader of the site may see its folders."""
        return READER

    def check_row(self) -> None:
        """Normalise and check the columns, and that no active sibling has the same name; raises ValidationError."""
        self.clean_fields(exclude={"site", "parent"})
        self.name = self.name.strip()
        if not self.name:
            raise fault_at("name", gettext("The name must not be blank."), "RequiredField")
        if self.is_archived:
            return
        siblings = EntityFolder.objects.at(self.site_id).filter(
            entity=self.entity, parent_id=self.parent_id, is_archived=False
        )
        siblings = siblings.exclude(pk=self.pk)
        if fold(self.name) in {fold(name) for name in siblings.values_list("name", flat=True)}:
            text = gettext("There is a folder “%(name)s” here already.") % {"name": self.name}
            raise fault_at("name", text, "Duplicate")


class SiteSequence(models.Model):
    """The last number that a site gave to records of one kind, and how many of them are archived.

    Since records are never deleted and numbers have no gaps, `last` is also the number of all records, so unfiltered
    lists need no counting.
    """

    id = models.BigAutoField(primary_key=True)
    site = models.ForeignKey(Site, models.PROTECT, related_name="+", db_index=False)
    entity = models.CharField(max_length=20, choices=Entity.choices)
    last = models.PositiveBigIntegerField(default=0)
    archived = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("site", "entity"), name="one_sequence_per_site_and_entity"),)

    def __str__(self) -> str:
        return f"{self.entity}: {self.last}"


class SiteRecord(models.Model):
    """What every record has: its site and number, folder, archive flag, stamps and revision."""

    ENTITY: ClassVar[Entity]
    ATTACHMENTS_SEEN_WITH: ClassVar[str] = ""
    """The permission needed, besides that of the record, to see its attachments, if they can contain private facts."""
    SEEN_WHOLE_WITH: ClassVar[str] = ""
    """The permission without which some records of the kind (those of `hidden_from`) do not exist for an account."""
    HISTORY_PROVES_ROWS: ClassVar[bool] = True
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = (
        "site",
        "created",
        "created_by",
        "last_modified",
        "last_modified_by",
        "revision",
    )
    HISTORY_STEPS: ClassVar[tuple[Step, ...]] = (Step("created_by", "created"),)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    site = models.ForeignKey(Site, models.PROTECT, related_name="+", db_index=False)
    site_sequence_id = models.PositiveBigIntegerField("number", null=True, blank=True, editable=False)
    entity_folder = models.ForeignKey(
        EntityFolder, models.PROTECT, null=True, blank=True, related_name="+", verbose_name="folder"
    )
    is_archived = models.BooleanField("archived", default=False, editable=False)
    revision = models.PositiveIntegerField(default=1, editable=False)
    created = models.DateTimeField(default=now, editable=False)
    created_by = models.ForeignKey(
        "accounts.User", models.PROTECT, null=True, blank=True, editable=False, related_name="+", db_index=False
    )
    last_modified = models.DateTimeField(default=now, editable=False)
    last_modified_by = models.ForeignKey(
        "accounts.User", models.PROTECT, null=True, blank=True, editable=False, related_name="+", db_index=False
    )

    objects = SiteRows.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        """Return the record's name; a kind of record without one defines what its records are called."""
        return str(self.name)  # type: ignore[attr-defined]

    def record_role(self) -> str:
        """Return the lowest default role that may see the record in its present state; empty for no restriction."""
        return READER

    @classmethod
    def hidden_from(cls, user_id: uuid.UUID) -> models.QuerySet[Self]:
        """Return the records of all sites that an account without `SEEN_WHOLE_WITH` may not see; by default none."""
        return cls._base_manager.none()

    def history_role(self, changed: Iterable[FieldChange]) -> str:
        """Return the lowest default role that may see a change of these fields (DECISIONS 13.13); empty: any role."""
        return self.record_role()

    def attachments_role(self) -> str:
        """Return the lowest default role that may see the record's attachments (DECISIONS 13.6); empty for any role."""
        return self.record_role()

    def permission_to_change(self) -> str:
        """Return the permission that is needed to change the record in its present state."""
        return permission_on(type(self), "change")


def permission_on(model: type[models.Model], action: str = "view") -> str:
    """Return the name of the permission for an action on a kind of record, such as `items.view_item`."""
    return f"{model._meta.app_label}.{get_permission_codename(action, model._meta)}"


class ChildRow(models.Model):
    """A row that is part of a record, such as one entry of an employment history; keeps its Id and position."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    idx = models.PositiveIntegerField("position", default=0, editable=False)

    class Meta:
        abstract = True
        ordering = ("idx", "id")


def site_record_constraints(label: str) -> tuple[models.BaseConstraint, ...]:
    """Return the constraints of every record's table; their names start with the label."""
    return (models.UniqueConstraint(fields=("site", "site_sequence_id"), name=f"{label}_number_once_per_site"),)
