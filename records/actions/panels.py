"""The actions about a record, shown on its page with the way to a new one."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from records.accounts import access
from records.actions.models import UNFINISHED, Action
from records.backoffice.current import user_of
from records.backoffice.due import due_shown
from records.backoffice.extension_points import RecordPanel
from records.sites.models import SiteRecord

SHOWN = 100


def panels(request: HttpRequest, record: Any) -> Sequence[RecordPanel]:
    """Return the panel of the actions about a record; two queries, and one for an audit's findings."""
    user = user_of(request)
    if not isinstance(record, SiteRecord) or record.ENTITY not in Action.ABOUT or record.site_sequence_id is None:
        return ()
    if not access.may(user, record.site_id, "actions.view_action"):
        return ()
    rows = list(actions_about(record)[: SHOWN + 1])
    findings = {row.pk: str(row) for row in record.findings.all()} if hasattr(record, "findings") else {}
    may_add = not record.is_archived and access.may(user, record.site_id, "actions.add_action")
    context = {
        "rows": [
            {
                "action": row,
                "url": reverse("admin:actions_action_read", args=(row.pk,)),
                "due": due_shown(row.due_date, waiting=row.record_status in UNFINISHED),
                "finding": findings.get(row.finding_id, ""),
            }
            for row in rows[:SHOWN]
        ],
        "has_more": len(rows) > SHOWN,
        "shown": SHOWN,
        "about": record.pk,
        "findings": findings,
        "add_url": reverse("admin:actions_action_add") if may_add else "",
    }
    return (RecordPanel("actions/panel.html", context),)


def actions_about(record: SiteRecord) -> Any:
    """Return the actions about a record, the newest first, without archived ones."""
    rows = Action.objects.filter(record_id=record.pk, site_id=record.site_id, is_archived=False)
    return rows.select_related("owner").order_by("-site_sequence_id")
