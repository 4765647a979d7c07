"""The pages of auditor's packs: the list, the form that asks for a pack, and the download of its file."""

import datetime
import uuid
from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Count, Sum
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from documents.models import IN_FORCE, DocumentVersion
from records.accounts import access
from records.accounts.models import User
from records.backoffice.current import (
    author_of,
    site_at,
    site_where,
    user_of,
    zone_of,
)
from records.backoffice.date_filters import today_at
from records.backoffice.datetimes import format_datetime
from records.backoffice.extension_points import menu_link
from records.backoffice.once import process_once
from records.backoffice.responses import page_response
from records.files import downloads
from records.history.counting import Counting
from records.packs import actions
from records.packs.kinds import ATTACHMENTS, BY_KEY, CHANGES, KINDS, permission_of
from records.packs.making import Making
from records.packs.models import MAKE, UNFINISHED, Pack, Status
from records.sites.models import Site
from records.sites.months import months_on

PAGE = 25
TITLE = _("Auditor's packs")
FILES = _("the files on the records that are chosen")
HISTORY = _("every change of the period, with the seal that proves them")
TITLES = {
    **{kind.key: capfirst(kind.model._meta.verbose_name_plural) for kind in KINDS},
    ATTACHMENTS: _("Attachments"),
    CHANGES: _("Changes and seal"),
}
"""What a pack can contain, in the reader's language when it is shown; in the pack itself it is in English."""
EARLIEST, LATEST = datetime.date(1950, 1, 1), datetime.date(2999, 12, 31)


class DayInput(forms.DateInput):
    """The browser's own date picker."""

    input_type = "date"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%d")


def _day_field(label: Any) -> forms.DateField:
    return forms.DateField(
        label=label,
        widget=DayInput(),
        input_formats=["%Y-%m-%d"],
        error_messages={"invalid": _("Enter a date as year-month-day."), "required": _("Choose a day.")},
    )


class PackForm(forms.Form):
    """The days and the contents of a pack."""

    first = _day_field(_("First day"))
    last = _day_field(_("Last day"))
    kinds = forms.MultipleChoiceField(
        label=_("Contents"), error_messages={"required": _("Choose at least one kind of record.")}
    )

    def __init__(self, keys: Sequence[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["kinds"].choices = [(key, TITLES[key]) for key in keys]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Check that the days are in order and within the range of dates that can be entered."""
        cleaned: dict[str, Any] = super().clean() or {}
        first, last = cleaned.get("first"), cleaned.get("last")
        for name, day in (("first", first), ("last", last)):
            if day is not None and not EARLIEST <= day <= LATEST:
                self.add_error(name, gettext("Choose a day from 1950 to 2999."))
        if first and last and last < first:
            self.add_error("last", gettext("The last day is before the first one."))
        return cleaned


menu_links = menu_link("packs", TITLE, "admin:packs", MAKE, group="Reports")


def packs(request: HttpRequest) -> HttpResponse:
    """Show the packs of the current site that the person may see, newest first; five queries."""
    site = site_where(request, MAKE)
    page = Paginator(actions.visible_packs(user_of(request), site).order_by("-created", "id"), PAGE).get_page(
        request.GET.get("page")
    )
    lines = [_line(user_of(request), pack) for pack in page]
    return page_response(
        request,
        "packs/list.html",
        TITLE,
        page=page,
        lines=lines,
        unfinished=sum(line["pack"].status in UNFINISHED for line in lines),
    )


def _line(user: User, pack: Pack) -> dict[str, Any]:
    parameters = QueryDict(mutable=True)
    parameters.update({"first": str(pack.first), "last": str(pack.last)})
    parameters.setlist("kinds", pack.kinds)
    return {
        "pack": pack,
        "contents": ", ".join(str(TITLES.get(key, key)) for key in pack.kinds),
        "asked": format_datetime(pack.created),
        "until": format_datetime(pack.kept_until),
        "file": pack.file if pack.status == Status.MADE and hasattr(pack, "file") else None,
        "why_not": actions.why_not_open(user, pack) if pack.status == Status.MADE else "",
        "again": f"{reverse('admin:packs_new')}?{parameters.urlencode()}",
    }


def new_pack(request: HttpRequest) -> HttpResponse:
    """Ask for the days and the contents, show how much that is, and queue the pack."""
    site, user = site_where(request, MAKE), user_of(request)
    available = [key for key in TITLES if access.may(user, site, permission_of(key))]
    today = today_at(zone_of(site))
    spans = presets(today)
    if request.method == "POST":
        form = PackForm(available, request.POST)
        if form.is_valid() and "count" not in request.POST:
            cleaned = form.cleaned_data
            try:
                with process_once(request, reverse("admin:packs")):
                    actions.request_pack(
                        site, user, cleaned["first"], cleaned["last"], cleaned["kinds"], author=author_of(request)
                    )
            except ValidationError as fault:
                form.add_error(None, fault)
            else:
                text = gettext("The pack of %(site)s was queued. You may leave this page meanwhile.")
                messages.success(request, text % {"site": site})
                return redirect("admin:packs")
    else:
        _, first, last = spans[0]
        days = {"first": request.GET.get("first", str(first)), "last": request.GET.get("last", str(last))}
        form = PackForm(available, {**days, "kinds": request.GET.getlist("kinds") or available})
        if not form.is_valid():
            # An address that cannot be read gives the usual period.
            form = PackForm(available, {"first": str(first), "last": str(last), "kinds": available})
            form.is_valid()
    period = (form.cleaned_data.get("first"), form.cleaned_data.get("last"))
    return page_response(
        request,
        "packs/new.html",
        gettext("New auditor's pack"),
        form=form,
        record_site=site,
        presets=[
            {"name": name, "query": f"?first={first}&last={last}", "is_chosen": (first, last) == period}
            for name, first, last in spans
        ],
        **_estimate(site, user, form, available),
    )


def presets(today: datetime.date) -> list[tuple[str, datetime.date, datetime.date]]:
    """Return the periods that the form offers, each with its first and last day; the usual one first."""
    day = datetime.timedelta(days=1)
    year, month = today.replace(month=1, day=1), today.replace(day=1)
    quarter = months_on(today, -((today.month - 1) % 3))
    return [
        (gettext("The last 12 months"), _year_before(today) + day, today),
        (gettext("This year"), year, today),
        (gettext("Last year"), months_on(year, -12), year - day),
        (gettext("Last quarter"), months_on(quarter, -3), quarter - day),
        (gettext("Last month"), months_on(month, -1), month - day),
    ]


def _year_before(day: datetime.date) -> datetime.date:
    return day.replace(year=day.year - 1, day=28 if (day.month, day.day) == (2, 29) else day.day)


def _estimate(site: Site, user: User, form: PackForm, available: Sequence[str]) -> dict[str, Any]:
    """Return the check boxes with the number of records in the period, and the size of the files; 16 queries."""
    cleaned = form.cleaned_data
    selected_keys = set(cleaned.get("kinds", form.data.getlist("kinds") if hasattr(form.data, "getlist") else ()))
    lines: list[dict[str, Any]] = [
        {
            "key": key,
            "title": TITLES[key],
            "rule": gettext(BY_KEY[key].rule) if key in BY_KEY else FILES if key == ATTACHMENTS else HISTORY,
            "is_chosen": key in selected_keys,
            "count": None,
        }
        for key in available
    ]
    first, last = cleaned.get("first"), cleaned.get("last")
    if form.errors.keys() & {"first", "last"} or first is None or last is None:
        return {"lines": lines, "size": None}
    kinds = [key for key in available if key in BY_KEY and key in selected_keys]
    keys = [key for key in available if key != ATTACHMENTS]
    count = Counting(site.pk)
    making = Making(Pack(site=site, asked_by=user, first=first, last=last, kinds=keys), count)
    counts, size = dict(making.counts), 0
    making.kinds = [BY_KEY[key] for key in kinds]
    if ATTACHMENTS in available:
        attachments = making.attachments().order_by().values_list("site").annotate(Count("pk"), Sum("file_size"))
        _, counts[ATTACHMENTS], size = next(iter(count(attachments)), (None, 0, 0))
        if ATTACHMENTS not in selected_keys:
            size = 0
    if "documents" in selected_keys:
        documents = BY_KEY["documents"].rows(site, making.span).order_by()
        versions = DocumentVersion.objects.filter(document__in=documents, record_status__in=IN_FORCE)
        size += versions.aggregate(size=Sum("file_size"))["size"] or 0
    for line in lines:
        line["count"] = counts.get(line["key"], 0)
    return {"lines": lines, "size": size}


def file(request: HttpRequest, pack_id: uuid.UUID) -> HttpResponseBase:
    """Serve the file of a pack and record who opened it; 404 for a pack that the person may not see."""
    pack = Pack.objects.select_related("site", "file").filter(pk=pack_id).first()
    site = site_at(request, pack.site_id) if pack is not None else None
    if pack is None or site is None or not actions.visible_packs(user_of(request), site).filter(pk=pack.pk).exists():
        raise Http404(gettext("There is no such pack."))
    if fault := actions.why_not_open(user_of(request), pack):
        messages.error(request, fault)
        return redirect("admin:packs")
    answer = downloads.serve_on_page(request, pack.file)
    if request.method == "GET" and answer.status_code in (200, 206):
        try:
            actions.note_opening(pack, author=author_of(request))
        except BaseException:
            answer.close()
            raise
    return answer


urlpatterns = [
    path("packs/", require_safe(packs), name="packs"),
    path("packs/new/", new_pack, name="packs_new"),
    path("packs/<uuid:pack_id>/file/", require_safe(file), name="packs_file"),
]
