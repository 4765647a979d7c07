"""The printed content of a record: which fields, in which order, under which headings.

Complaints, audits and actions have a layout of their own; all other records are printed like their page.
"""

import datetime
from collections.abc import Callable, Collection, Sequence
from typing import Any

from django.db import models
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.accounts.models import User
from records.actions.models import Action
from records.actions.panels import actions_about
from records.attachments.models import Attachment
from records.attachments.visibility import sees
from records.audits.models import AuditRecord
from records.backoffice.about import may_see
from records.backoffice.current import zone_of
from records.backoffice.datetimes import NOTHING, format_datetime, plain_number
from records.backoffice.reading import Fact
from records.complaints.models import ABOUT_CONSUMER, CONSUMER, HANDLING, Complaint
from records.dashboard.printing.paper import Paper, Part, Value
from records.dashboard.search import name_of
from records.history.trail import now
from records.sites.about import about
from records.sites.models import Site, SiteRecord

Moments = Sequence[str]

COMPLAINT = (
    (
        _("Complaint"),
        ("record_status", "date", "customer", "product", "nonconformance", "quantity", "complaint_description"),
    ),
    (_("Lot"), ("trace_number", "manufacture_date", "expiration_date", "brand", "production_unit")),
    (_("How it reached us"), ("source", "source_details", "method", "sample_details")),
    (_("Consumer"), ABOUT_CONSUMER),
    (_("Handling"), HANDLING),
    (_("Review"), ("review_report",)),
)
AUDIT = (
    (_("Audit"), ("audit_program", "record_status", "date", "due_date", "is_extra", "start_date", "finish_date")),
    (_("People and checklists"), ("auditors", "auditees", "checklists")),
    (_("Outcome"), ("rating_scale", "score", "rating", "result", "completed_date", "completed_by", "notes")),
)
ACTION = (
    (_("Action"), ("description", "owner", "due_date", "priority", "kind", "cause")),
    (
        _("Outcome"),
        ("record_status", "result", "done_by", "done_date", "effective", "closed_by", "closed_date"),
    ),
)
SEE_CONSUMER = "complaints.view_private_complaint"
STAMPS = ("created", "created_by", "last_modified", "last_modified_by")


def complaint_paper(complaint: Complaint, site: Site, user: User, moments: Moments) -> Paper:
    """Return the paper of a complaint; a text replaces the consumer's identity if the user may not see it."""
    paper = _paper(complaint, site, user)
    is_whole = access.may(user, complaint.site_id, SEE_CONSUMER)
    parts = _parts(complaint, COMPLAINT, moments, () if is_whole else CONSUMER)
    if not is_whole:
        note = Value(gettext("Name and contact"), gettext("The person who printed this may not see it."))
        of_consumer = gettext("Consumer")
        parts = [Part(part.title, [note, *part.values]) if part.title == of_consumer else part for part in parts]
    paper.parts = [*parts, *_rows_about(complaint, user), _stamps(complaint)]
    return paper


def audit_paper(audit: AuditRecord, site: Site, user: User, moments: Moments) -> Paper:
    """Return the paper of an audit with its findings; five queries."""
    paper = _paper(audit, site, user)
    paper.title = gettext("Audit %(site_sequence_id)s: %(name)s") % {
        "site_sequence_id": audit.site_sequence_id,
        "name": audit.audit_program.name,
    }
    paper.parts = _parts(audit, AUDIT, moments)
    findings = audit.findings.select_related("rating_response", "nonconformance")
    for number, finding in enumerate(findings, 1):
        values = [
            Value(gettext("Question"), finding.question),
            Value(gettext("Response"), str(finding.rating_response or NOTHING)),
            Value(gettext("Comment"), finding.comment),
            Value(gettext("Nonconformance"), str(finding.nonconformance or NOTHING)),
        ]
        paper.parts.append(Part(gettext("Finding %(number)s") % {"number": number}, values))
    paper.parts += [*_rows_about(audit, user), _stamps(audit)]
    return paper


def action_paper(action: Action, site: Site, user: User, moments: Moments) -> Paper:
    """Return the paper of an action, with the record that it is about."""
    paper = _paper(action, site, user)
    paper.title = gettext("Action %(site_sequence_id)s: %(name)s") % {
        "site_sequence_id": action.site_sequence_id,
        "name": action.name,
    }
    about = action.about()
    paper.parts = _parts(action, ACTION, moments)
    if about is not None and may_see(user, about):
        kind = capfirst(str(about._meta.verbose_name))
        paper.parts.insert(1, Part(gettext("About"), [Value(kind, f"{about.site_sequence_id}: {about}")]))
    paper.parts += [*_rows_about(action, user), _stamps(action)]
    return paper


def _rows_about(record: SiteRecord, user: User) -> list[Part]:
    """Return those actions about a record, and those of its attachments, that the user may see; two queries."""
    parts = []
    if record.ENTITY in Action.ABOUT and access.may(user, record.site_id, "actions.view_action"):
        values = [
            Value(gettext("Action %(number)s") % {"number": row.site_sequence_id}, _action_line(row))
            for row in actions_about(record)
        ]
        parts += [Part(gettext("Actions"), values)] if values else []

    may = access.asking(user, record.site_id)
    if may("attachments.view_attachment") and sees(record.ENTITY, may):
        rows = Attachment.objects.filter(about(record), is_archived=False).order_by("site_sequence_id")
        values = [Value(str(row), f"{row.file_name}, SHA-256 {row.file_hash}") for row in rows]
        parts += [Part(gettext("Attachments"), values)] if values else []
    return parts


def _action_line(action: Action) -> str:
    judgement = {True: gettext("it worked"), False: gettext("it did not work"), None: ""}[action.effective]
    status = ", ".join(filter(None, (action.get_record_status_display(), judgement)))
    line = gettext("%(name)s. Owner %(owner)s, due %(due_date)s, %(status)s.") % {
        "name": action.name,
        "owner": action.owner,
        "due_date": format_datetime(action.due_date, day=True),
        "status": status,
    }
    return f"{line} {action.result}".strip()


def paper_of_page(record: Any, site: Site | None, user: User, content: tuple[Any, Any]) -> Paper:
    """Return the paper of a record of any kind: the fields of its page, its child rows, actions and attachments.

    `content` is what `ReadingPage.content_of` returns.
    """
    facts, children = content
    paper, kind = _paper(record, site, user), capfirst(str(record._meta.verbose_name))
    name = name_of(record) if isinstance(record, SiteRecord) else str(record)
    paper.title = name if name.startswith(kind) else f"{kind}: {name}"
    if getattr(record, "record_status", ""):
        paper.subtitle = f"{record.get_record_status_display()}. {paper.subtitle}"
    *own, last = [
        Part(str(title or kind), [_value_of_fact(fact) for fact in facts_of_part]) for title, facts_of_part in facts
    ]
    paper.parts = [part for part in own if part.values]
    for group in children:
        rows = [Value(str(number), _row_text(row)) for number, row in enumerate(group["rows"], 1)]
        paper.parts.append(Part(group["title"], rows))
    if isinstance(record, SiteRecord):
        paper.parts += _rows_about(record, user)
    paper.parts += [last] if last.values else []
    return paper


def _value_of_fact(fact: Fact) -> Value:
    return Value(capfirst(str(fact.field["label"])), fact.plain_text)


def _row_text(row: Sequence[Fact]) -> str:
    """Return a child row as one text: a line for each value, with its label if there are several."""
    values = [value for value in map(_value_of_fact, row) if value.text]
    return values[0].text if len(row) == 1 else "\n".join(f"{value.label}: {value.text}" for value in values)


PAPERS: dict[type[models.Model], Callable[[Any, Site, User, Moments], Paper]] = {
    Complaint: complaint_paper,
    AuditRecord: audit_paper,
    Action: action_paper,
}
"""The kinds of record with a layout of their own."""


def _paper(record: Any, site: Site | None, user: User) -> Paper:
    subtitle = (
        gettext("%(site)s, archived. Id %(pk)s") if getattr(record, "is_archived", False) else "%(site)s. Id %(pk)s"
    )
    parts = [subtitle % {"site": place_of(site), "pk": record.pk}]
    if isinstance(record, SiteRecord):
        parts.append(gettext("revision %(revision)s") % {"revision": record.revision})
    return Paper(
        title=str(record),
        subtitle=", ".join(parts),
        foot=foot_of(site, user),
    )


def place_of(site: Site | None) -> str:
    """Return the name of the record's site, or a text that says that all sites share the record."""
    return site.name if site is not None else gettext("All sites")


def foot_of(site: Site | None, user: User) -> str:
    """Return the line at the foot of each page: the site, the time of printing, and who printed it."""
    at = f"{format_datetime(now())} ({zone_of(site).key})"
    facts = {"name": place_of(site), "at": at, "printed_name": user.printed_name}
    return gettext("%(name)s · printed %(at)s by %(printed_name)s") % facts


def _parts(
    record: object, layout: Sequence[tuple[Any, Sequence[str]]], moments: Moments, hidden: Collection[str] = ()
) -> list[Part]:
    return [
        Part(str(title), [value_of(record, name, moments) for name in names if name not in hidden])
        for title, names in layout
    ]


def _stamps(record: object) -> Part:
    return Part(gettext("Record"), [value_of(record, name, STAMPS) for name in STAMPS])


def value_of(record: Any, name: str, moments: Moments) -> Value:
    """Return label and text of a field of a record; `moments` are the fields that have a time of day."""
    column: Any = record._meta.get_field(name)
    value = getattr(record, name)
    if column.many_to_many:
        text = ", ".join(str(target) for target in value.all())
    elif isinstance(value, datetime.datetime):
        text = format_datetime(value, day=name not in moments)
    elif value is None:
        text = ""
    elif isinstance(value, bool):
        text = gettext("Yes") if value else gettext("No")
    elif isinstance(column, models.DecimalField):
        text = plain_number(value)
    elif isinstance(value, list):
        text = ", ".join(map(str, value))
    elif column.choices:
        text = str(getattr(record, f"get_{name}_display")())
    else:
        text = str(value)
    return Value(capfirst(str(column.verbose_name)), text)
