"""What can be in a pack: which records of each kind belong to a period, and which rows belong to each record."""

import datetime
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.text import capfirst
from django.utils.translation import gettext_noop

from documents.models import FACTS, IN_FORCE, Document, DocumentVersion, Reading, Signature
from materials.models import Material
from records.actions.models import UNFINISHED, Action
from records.audits.models import AuditProgram, AuditRecord, Finding
from records.backoffice.date_filters import begins, on_days
from records.complaints.models import Complaint
from records.customers.models import Customer, PartyContact
from records.employees.models import EducationTraining, Employee, EmploymentHistory, JobDescription
from records.items.models import Item
from records.sites.models import Site, permission_on

Rows = models.QuerySet[Any]
DAY = datetime.timedelta(days=1)
ATTACHMENTS, CHANGES = "attachments", "changes"
"""What a pack can contain besides records: their attached files, and the history of the period with its seal."""
SEE_CHANGES, SEE_ATTACHMENTS = "history.view_change", "attachments.view_attachment"


@dataclass(frozen=True, slots=True)
class Span:
    """The days of a pack, from first to last, in the time zone of its site."""

    first: datetime.date
    last: datetime.date
    zone: zoneinfo.ZoneInfo

    @property
    def begins(self) -> datetime.datetime:
        """Return the time at which the first day begins."""
        return begins(self.first, self.zone)

    @property
    def ends(self) -> datetime.datetime:
        """Return the time at which the day after the last one begins."""
        return begins(self.last + DAY, self.zone)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record: which records belong to a period, and which of their fields are left out."""

    key: str
    model: type[models.Model]
    rule: str
    condition: Callable[[Span], Q]
    children: Mapping[str, Callable[[], Rows]] = field(default_factory=dict)
    """The relations whose rows are also listed, with the queries for these rows."""
    left_out: Sequence[str] = ()

    @property
    def title(self) -> str:
        """Return the name of the kind."""
        return capfirst(str(self.model._meta.verbose_name_plural))

    @property
    def permission(self) -> str:
        """Return the permission that is needed to see the kind."""
        return permission_on(self.model)

    def rows(self, site: Site, span: Span) -> Rows:
        """Return the site's records of the period, without drafts, in the order of their numbers."""
        rows = self.model._default_manager.filter(self.condition(span), site=site, site_sequence_id__isnull=False)
        return rows.order_by("site_sequence_id", "pk")


def _in_period(span: Span) -> Q:
    return Q(created__lt=span.ends) & ~Q(is_archived=True, last_modified__lt=span.begins)


def _took_place(span: Span) -> Q:
    conditions = (on_days(name, span.first, span.last, span.zone) for name in ("finish_date", "start_date", "date"))
    carried_out, started_then, planned_then = conditions
    return carried_out | Q(finish_date=None) & started_then | Q(finish_date=None, start_date=None) & planned_then


def _open_then(span: Span) -> Q:
    return Q(created__lt=span.ends) & (Q(record_status__in=UNFINISHED) | Q(last_modified__gte=span.begins))


def _in_force(span: Span) -> Q:
    return _in_period(span) & Q(effective_version__isnull=False)


ALL_OF_THE_PERIOD = gettext_noop("all that existed in the period")
KINDS = (
    Kind(
        "complaints",
        Complaint,
        gettext_noop("by their date"),
        lambda span: on_days("date", span.first, span.last, span.zone),
    ),
    Kind(
        "audits",
        AuditRecord,
        gettext_noop("carried out, begun or planned in the period, with their findings"),
        _took_place,
        {"findings": Finding.objects.all},
    ),
    Kind("actions", Action, gettext_noop("open in the period, or changed since it began"), _open_then),
    Kind(
        "documents",
        Document,
        gettext_noop("in force when the pack is made, with their files, signatures and readings"),
        _in_force,
        {
            "versions": lambda: DocumentVersion.objects.filter(record_status__in=IN_FORCE),
            "signatures": lambda: Signature.objects.filter(version__record_status__in=IN_FORCE),
            "readings": lambda: Reading.objects.filter(version__record_status__in=IN_FORCE),
        },
        # Fields that describe a version that is not in force yet, or who is asked to sign it.
        (*FACTS, "user_to_review", "user_to_approve"),
    ),
    Kind("programs", AuditProgram, ALL_OF_THE_PERIOD, _in_period),
    Kind("items", Item, ALL_OF_THE_PERIOD, _in_period),
    Kind(
        "customers",
        Customer,
        gettext_noop("all that existed in the period, with their contacts"),
        _in_period,
        {"party_contacts": PartyContact.objects.all},
    ),
    Kind("materials", Material, ALL_OF_THE_PERIOD, _in_period),
    Kind(
        "employees",
        Employee,
        gettext_noop("all that existed in the period, with training and employment history"),
        _in_period,
        {"education_training": EducationTraining.objects.all, "employment_history": EmploymentHistory.objects.all},
    ),
    Kind("jobs", JobDescription, ALL_OF_THE_PERIOD, _in_period),
)
BY_KEY = {kind.key: kind for kind in KINDS}


def permission_of(key: str) -> str:
    """Return the permission that is needed for a part of a pack."""
    permissions = {ATTACHMENTS: SEE_ATTACHMENTS, CHANGES: SEE_CHANGES}
    return permissions[key] if key in permissions else BY_KEY[key].permission
