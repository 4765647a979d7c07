"""Retention on pages: notices on records, the page that sets or lifts a legal hold, and the list of holds."""

import datetime
import uuid
from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.backoffice.about import existing_for, link_to
from records.backoffice.current import author_of, site_where, user_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.extension_points import RecordLink, RecordNotice, menu_link
from records.backoffice.responses import page_response
from records.backoffice.transitions import RecordStep
from records.retention import actions
from records.retention.models import LIFT_HOLD, SET_HOLD
from records.sites.about import kinds
from records.sites.models import SiteRecord, permission_on

PAGE = 100


SET = RecordStep(
    "set",
    _("Set legal hold"),
    SET_HOLD,
    lambda page, request, record, reason, data: actions.set_hold(
        page.model, record.site_id, record.pk, author=author_of(request), reason=reason
    ),
    explanation=_("While the hold lasts, no part of this record can be erased. Only a Site Administrator can lift it."),
    done=_("%(record)s is on legal hold."),
)
LIFT = RecordStep(
    "lift",
    _("Lift legal hold"),
    LIFT_HOLD,
    lambda page, request, record, reason, data: actions.lift_hold(
        page.model, record.site_id, record.pk, author=author_of(request), reason=reason
    ),
    explanation=_("Personal data can be erased from this record again."),
    done=_("%(record)s is not on legal hold any more."),
)
ADDRESSES = {"set": SET, "lift": LIFT}


menu_links = menu_link("legal-holds", _("Legal holds"), "admin:retention_holds", SET_HOLD)


def holds(request: HttpRequest) -> HttpResponse:
    """Show the legal holds of the current site on records that the user may see; a query for each kind at most."""
    site, user = site_where(request, SET_HOLD), user_of(request)
    page = Paginator(
        [entry for entry in actions.holds_at(site.pk) if access.may(user, site, permission_on(entry.model))], PAGE
    ).get_page(request.GET.get("page"))
    keys: dict[type[SiteRecord], set[uuid.UUID]] = {}
    for entry in page:
        keys.setdefault(entry.model, set()).add(entry.record_id)
    records = {
        (model, record.pk): record
        for model, ids in keys.items()
        for record in existing_for(user, model._base_manager.filter(pk__in=ids), [site.pk])
    }
    return page_response(
        request,
        "retention/holds.html",
        gettext("Legal holds of %(site)s") % {"site": site},
        page=page,
        lines=[
            {
                "hold": entry,
                "link": link_to(records[entry.model, entry.record_id]),
                "since": format_datetime(entry.since),
                "lift": reverse("admin:retention_hold", args=("lift", entry.model.ENTITY.value, entry.record_id)),
            }
            for entry in page
            if (entry.model, entry.record_id) in records
        ],
        may_lift=access.may(user, site, LIFT_HOLD),
    )


def record_notices(request: HttpRequest, record: object) -> Sequence[RecordNotice]:
    """Return the notices about a record's hold and period at the top of its page; two queries."""
    if not isinstance(record, SiteRecord):
        return ()
    notices = []
    if since := _on_hold_since(record):
        notices.append(
            RecordNotice(
                gettext("On legal hold since %(since)s. No part of it can be erased.")
                % {"since": format_datetime(since)},
                is_warning=True,
            )
        )
    if until := actions.kept_until(record):
        text = gettext(
            "Kept at least until %(until)s. It may be erased from that day on; nothing is deleted by itself."
        )
        notices.append(RecordNotice(text % {"until": until.isoformat()}))
    return notices


def record_links(request: HttpRequest, record: Any) -> Sequence[RecordLink]:
    """Return the button that sets or lifts the hold, for people who may; no query besides that of the notices."""
    if not isinstance(record, SiteRecord):
        return ()
    name = "lift" if _on_hold_since(record) else "set"
    step = ADDRESSES[name]
    if not access.may(request.user, record.site_id, step.permission):
        return ()
    url = reverse("admin:retention_hold", args=(name, record.ENTITY.value, record.pk))
    return (RecordLink("legal-hold", step.label, url),)


def hold(request: HttpRequest, name: str, entity: str, record_id: uuid.UUID) -> HttpResponse:
    """Ask for the reason, then set or lift the record's hold."""
    model = next((model for kind, model in kinds().items() if kind.value == entity), None)
    step = ADDRESSES.get(name)
    if step is None or model is None or not admin.site.is_registered(model):
        raise Http404
    page: Any = admin.site.get_model_admin(model)
    record = page.record_to_edit(request, str(record_id))
    if not access.may(request.user, record.site_id, step.permission):
        raise PermissionDenied
    answer: HttpResponse = page.step_response(request, step, record)
    return answer


def fault_of_erasing(record: SiteRecord) -> str:
    """Return why nothing of the page's record can be erased now; an empty text if it is not on legal hold."""
    return actions.refusal_on_hold(record) if _on_hold_since(record) else ""


def _on_hold_since(record: Any) -> datetime.datetime | None:
    """Return since when the page's record is on hold; queried once for each page."""
    if "_on_hold_since" not in record.__dict__:
        record._on_hold_since = actions.on_hold_since(record)
    since: datetime.datetime | None = record._on_hold_since
    return since


urlpatterns = [
    path("retention/holds/", holds, name="retention_holds"),
    path("retention/hold/<str:name>/<str:entity>/<uuid:record_id>/", hold, name="retention_hold"),
]
