"""Actions on pages: those about a record, with a button that adds one, and the reason why an action came back."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.actions.models import UNFINISHED, Action, Status
from records.backoffice.conflicts import changes_of
from records.backoffice.current import user_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.due import format_due_date
from records.backoffice.extension_points import RecordNotice, RecordPanel
from records.sites.about import about, pointer_to
from records.sites.models import SiteRecord, SiteRows

MOST_SHOWN = 100
REASON_LABELS = {Status.OPEN: _("Sent back"), Status.CANCELLED: _("Cancelled")}
"""The statuses whose reason is shown on the action's page, since its owner may not see the history."""


def record_notices(request: HttpRequest, record: object) -> Sequence[RecordNotice]:
    """Return who sent an action back, opened it again or cancelled it, and why; one query for such an action."""
    if not isinstance(record, Action) or record.record_status not in REASON_LABELS or record.revision < 2:
        return ()
    change = changes_of(record).naming("field", "record_status").first()
    step: Any = next((entry for entry in change.fields if entry["field"] == "record_status"), {}) if change else {}
    if change is None or not step.get("old") or step.get("new") != record.record_status:
        return ()
    step_label = gettext("Reopened") if step["old"] == Status.CLOSED else REASON_LABELS[Status(record.record_status)]
    who = change.author_name or gettext("the system")
    return (
        RecordNotice(
            gettext("%(what)s by %(who)s, %(at)s: %(reason)s")
            % {"what": step_label, "who": who, "at": format_datetime(change.at), "reason": change.reason},
            is_warning=True,
        ),
    )


def record_panels(request: HttpRequest, record: object) -> Sequence[RecordPanel]:
    """Return the panel of the actions about a record; two queries, and one for an audit's findings."""
    user = user_of(request)
    if not isinstance(record, SiteRecord) or record.ENTITY not in Action.ABOUT or record.site_sequence_id is None:
        return ()
    if not access.may(user, record.site_id, "actions.view_action"):
        return ()
    rows = list(actions_about(record)[: MOST_SHOWN + 1])
    findings = {row.pk: str(row) for row in record.findings.all()} if hasattr(record, "findings") else {}
    may_add = not record.is_archived and access.may(user, record.site_id, "actions.add_action")
    context = {
        "rows": [
            {
                "action": row,
                "url": reverse("admin:actions_action_read", args=(row.pk,)),
                "due": format_due_date(row.due_date, is_open=row.record_status in UNFINISHED),
                "finding": findings.get(row.finding_id, ""),
            }
            for row in rows[:MOST_SHOWN]
        ],
        "has_more": len(rows) > MOST_SHOWN,
        "shown": MOST_SHOWN,
        "about": pointer_to(record),
        "findings": findings,
        "add_url": reverse("admin:actions_action_add") if may_add else "",
    }
    return (RecordPanel("actions/panel.html", context),)


def actions_about(record: SiteRecord) -> SiteRows[Action]:
    """Return the actions about a record, the newest first, without archived ones."""
    rows = Action.objects.at(record.site_id).filter(about(record), is_archived=False)
    return rows.select_related("owner").order_by("-site_sequence_id")
