"""A record's history pages: every change field by field, filtered, paged, and compared between any two times."""

import re
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django.apps import apps
from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, Model, OuterRef, Q
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.utils.translation import gettext

from records.accounts.access import asking
from records.accounts.models import User
from records.backoffice.about import name_pointers
from records.backoffice.conflicts import Conflict, changes_of, is_of
from records.backoffice.current import show_times_of, site_at, user_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.fields import as_number
from records.backoffice.history_export import TOO_MANY, history_file, is_too_long
from records.backoffice.lists import UncountedPaginator
from records.backoffice.permissions import Pages, SitePermissions
from records.backoffice.transfer.sheets import KINDS
from records.backoffice.wording import choice_label, field_label, format_value, operation_label
from records.history.digests import SIDES, FieldChange
from records.history.models import Change, ChangeQuerySet
from records.history.snapshots import children_of
from records.sites.about import in_history_of, kinds
from records.sites.hidden import hides, revealing_fields, sees_attachments
from records.sites.models import Entity, SiteRecord, permission_on
from records.sites.text import read_uuid

PAGE = 25
MOST_PRINTED = 1_000
"""How many changes the page for printing shows."""


Place = tuple[str, str]


def place_of(entry: FieldChange) -> Place:
    """Return the place of an entry of a change: its field, and the id of its child row or ""."""
    return entry["field"], str(entry.get("row", ""))


def no_offers(change: Change) -> Mapping[Place, str]:
    """Return no offers: no value of the change can be put back."""
    return {}


def lines_of(
    model: Any,
    fields: Iterable[FieldChange],
    hidden_fields: Sequence[str],
    days: Callable[[str], bool],
    offers: Mapping[Place, str] | None = None,
) -> list[dict[str, str]]:
    """Return changed fields as label, old and new text, without private ones.

    With `offers` (places to URLs), each line has the URL of the page that puts its old value back, or "".
    """
    return [
        {
            **({} if offers is None else {"put_back": offers.get(place_of(entry), "")}),
            "label": field_label(model, entry["field"]),
            **{
                side: format_value(choice_label(model, entry["field"], entry.get(side)), day=days(entry["field"]))
                for side in SIDES
            },
        }
        for entry in fields
        if entry["field"].split(".")[0] not in hidden_fields
    ]


def net_changes(changes: Iterable[Change]) -> list[FieldChange]:
    """Return the sum of some changes, oldest first, without values that were changed back."""
    sums: dict[Place, FieldChange] = {}
    for change in changes:
        for entry in change.fields:
            key = place_of(entry)
            if key in sums:
                sums[key]["new"] = entry.get("new")
            else:
                sums[key] = {"field": entry["field"], "old": entry.get("old"), "new": entry.get("new")}
    return [entry for entry in sums.values() if entry["old"] != entry["new"]]


def visible_changes(user: User, changes: ChangeQuerySet, sites: Collection[uuid.UUID]) -> ChangeQuerySet:
    """Return those of the changes of these sites that are about records which the user may see.

    A kind of record that is partly hidden from the user is left out as a whole: what was once hidden stays in the
    history. An attachment is left out where those of its record are.
    """
    for site in sites:
        if hidden_changes := _hidden_changes(asking(user, site)):
            changes = changes.exclude(hidden_changes, site=site)
    return changes


def _hidden_changes(may: Callable[[str], bool]) -> Q:
    """Return the condition for a site's changes that the user may not see; empty if there are none."""
    condition, closed_kinds = Q(), []
    for entity, kind in kinds().items():
        if is_partly_hidden := hides(kind, may):
            condition |= Q(model__startswith=f"{kind._meta.app_label}.")
        elif not may(permission_on(kind)):
            condition |= Q(model=kind._meta.label)
        if is_partly_hidden or not sees_attachments(kind, may):
            closed_kinds.append(entity)
    if closed_kinds:
        attachments: Any = kinds()[Entity.ATTACHMENT]
        on_closed = attachments._base_manager.filter(pk=OuterRef("record_id"), entity__in=closed_kinds)
        condition |= Q(Exists(on_closed), model=attachments._meta.label)
    return condition


class HistoryPages(SitePermissions):
    """The history page of a record, and its part in showing a conflict."""

    moments: ClassVar[tuple[str, ...]] = ()
    own_pages: ClassVar[Pages] = (
        ("<str:object_id>/history/export/<str:kind>/", "history_export_view", "history_export"),
    )

    def hidden_in_history(self, request: HttpRequest, record: Any) -> tuple[str, ...]:
        """Return the fields whose changes the user does not see: hidden ones, and references to hidden records."""
        may = asking(request.user, self.site_id_of(record))
        return (*self.hidden_fields(request, record), *revealing_fields(self.model, may))

    def is_day(self, name: str) -> bool:
        """Return whether a date-time field is a day, which is the same in every zone."""
        parts = name.split(".")
        if len(parts) == 1:
            return name not in self.moments
        return not any(parts[1] in getattr(inline, "moments", ()) for inline in self.inlines)

    def offers_on(self, request: HttpRequest, record: Any) -> Callable[[Change], Mapping[Place, str]]:
        """Return a function that takes a change and returns, by place, the pages that put the old values back."""
        return no_offers

    def conflict_context(self, request: HttpRequest, record: object, form: Any, conflict: Conflict) -> dict[str, Any]:
        """Return the content of a conflict's notice: who changed what and when, and which fields both changed."""
        hidden_fields = self.hidden_in_history(request, record)
        name_pointers(user_of(request), conflict.changes)
        return {
            "changes": [
                {
                    "author": change.author_name or gettext("The system"),
                    "at": format_datetime(change.at),
                    "reason": change.reason,
                    "lines": lines_of(self.model, change.fields, hidden_fields, self.is_day),
                }
                for change in conflict.changes
            ],
            "both": [str(form[name].label) for name in conflict.fields_changed_by_both],
        }

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a page of the record's changes, newest first, or the difference between two of them."""
        record = self._record_with_history(request, object_id)
        hidden_fields = self.hidden_in_history(request, record)
        parameters = request.GET
        history = self.history_of(request, record)
        people = list(history.order_by("author_name").values_list("author_id", "author_name").distinct())
        choices = self._field_choices(record, hidden_fields)
        rows = self._filtered(history, parameters, dict(choices))
        is_whole = parameters.get("all") == "yes"
        pages = UncountedPaginator(rows, MOST_PRINTED if is_whole else PAGE)
        page, changes = pages.read_or_last(max(as_number(parameters.get("p", "1"), 6) or 1, 1))
        filter_query = urlencode({name: parameters[name] for name in ("field", "person") if parameters.get(name)})
        page_query = "&".join(
            f"{name}={quote(parameters[name])}" for name in ("field", "person", "from", "to") if parameters.get(name)
        )
        page_query += "&all=yes" if is_whole else ""
        page_ids = {change.pk for change in changes}
        ends = self._selected_changes(record, parameters)
        name_pointers(user_of(request), [*changes, *ends.values()])
        changes_of_other_pages = {change.pk: change for change in ends.values() if change.pk not in page_ids}
        changes_of_record = [change for change in changes if is_of(change, record)]
        older = ends["from"].pk if "from" in ends else changes_of_record[-1].pk if changes_of_record else None
        newer = ends["to"].pk if "to" in ends else changes_of_record[0].pk if changes_of_record else None
        offers = self.offers_on(request, record)

        def entry(change: Change) -> dict[str, Any]:
            is_own = is_of(change, record)
            model: Any = self.model if is_own else apps.get_model(change.model)
            return {
                "change": change,
                "at": format_datetime(change.at),
                "did": operation_label(change.operation, change.model),
                "of": "" if is_own else f"{model._meta.verbose_name} {change.record_name}",
                "lines": self._lines_in(record, change, hidden_fields, offers(change) if is_own else {}),
                "is_own": is_own,
                "is_from": change.pk == older,
                "is_to": change.pk == newer,
            }

        return self.page_response(
            request,
            "backoffice/history.html",
            gettext("History: %(record)s") % {"record": record},
            original=record,
            back=self.page_of(record.pk),
            changes=[entry(change) for change in changes],
            may_compare=len(changes_of_record) > 1 or bool(changes_of_other_pages),
            chosen=[entry(change) for change in changes_of_other_pages.values()],
            people=people,
            field_choices=choices,
            filters={"field": parameters.get("field", ""), "person": parameters.get("person", "")},
            page=page,
            previous=f"?{page_query}&p={page - 1}" if page > 1 else "",
            next=f"?{page_query}&p={page + 1}" if pages.has_more else "",
            exports=[
                (kind.upper(), f"{self.url_of('history_export', quote(record.pk), kind)}?{filter_query}")
                for kind in KINDS
            ],
            print_url="" if is_whole else f"?{filter_query}&all=yes".replace("?&", "?"),
            comparison=self._comparison(user_of(request), record, ends.values(), hidden_fields),
            **extra_context or {},
        )

    def history_export_view(self, request: HttpRequest, object_id: str, kind: str) -> HttpResponseBase:
        """Return the record's changes, filtered as on the page, as a CSV or XLSX file."""
        record = self._record_with_history(request, object_id)
        if kind not in KINDS:
            raise Http404
        hidden_fields = self.hidden_in_history(request, record)
        rows = self._filtered(
            self.history_of(request, record), request.GET, dict(self._field_choices(record, hidden_fields))
        )
        if is_too_long(rows):
            self.message_user(request, TOO_MANY, messages.ERROR)
            return redirect(self.url_of("history", object_id))
        title = re.sub(r"[^\w-]+", " ", f"History of {record}")[:80].strip()
        return history_file(
            rows, kind, title, user_of(request), lambda change: self._lines_in(record, change, hidden_fields, None)
        )

    def _record_with_history(self, request: HttpRequest, object_id: str) -> Any:
        record = self.record_or_404(request, object_id)
        if not self.has_history_permission(request, record):
            raise PermissionDenied
        show_times_of(site_at(request, self.site_id_of(record)))
        return record

    @staticmethod
    def _filtered(rows: ChangeQuerySet, parameters: QueryDict, fields: Mapping[str, str]) -> ChangeQuerySet:
        """Return the changes by the person and of the field that the URL asks for."""
        if author := read_uuid(parameters.get("person", "")):
            rows = rows.filter(author_id=author)
        if (field := str(parameters.get("field", ""))) in fields:
            rows = rows.naming("field", field)
        return rows

    def _lines_in(
        self, record: Any, change: Change, hidden_fields: Sequence[str], offers: Mapping[Place, str] | None
    ) -> list[dict[str, str]]:
        """Return the changed fields of a change of the record, or of a row about it."""
        is_own = is_of(change, record)
        model: Any = self.model if is_own else apps.get_model(change.model)
        days = self.is_day if is_own else (lambda name: name == "due_date")
        return lines_of(model, change.fields, hidden_fields if is_own else (), days, offers)

    def history_of(self, request: HttpRequest, record: Model) -> ChangeQuerySet:
        """Return the changes of the record, and of its attachments and actions that the user may see, newest first."""
        rows = changes_of(record)
        if not isinstance(record, SiteRecord):
            return rows
        changes = Change.objects.filter(in_history_of(record))
        return visible_changes(user_of(request), changes, [record.site_id]).order_by("-number")

    def _field_choices(self, record: Model, hidden_fields: Sequence[str]) -> list[tuple[str, str]]:
        left_out = {*hidden_fields, *getattr(self.model, "HISTORY_EXCLUDE", ())}
        fields = [*self.opts.concrete_fields, *self.opts.many_to_many]
        names = [field.name for field in fields if not field.primary_key and field.name not in left_out]
        names += [name for name in children_of(record) if name not in left_out]
        return [(name, field_label(self.model, name)) for name in names]

    def _selected_changes(self, record: Model, parameters: QueryDict) -> dict[str, Change]:
        """Return the record's changes that the URL names as `from` and `to`."""
        keys = {name: read_uuid(parameters.get(name, "")) for name in ("from", "to")}
        if not any(keys.values()):
            return {}
        changes = changes_of(record).in_bulk([key for key in keys.values() if key])
        return {name: changes[key] for name, key in keys.items() if key in changes}

    def _comparison(
        self, user: User, record: Any, changes: Iterable[Change], hidden_fields: Sequence[str]
    ) -> dict[str, Any] | None:
        """Return the differences of the record between the times after two of its changes."""
        ends = sorted({change.pk: change for change in changes}.values(), key=lambda change: change.number)
        if len(ends) != 2:
            return None
        older, newer = ends
        rows = list(changes_of(record).filter(number__gt=older.number, number__lte=newer.number).order_by("number"))
        name_pointers(user, rows)
        return {
            "older": format_datetime(older.at),
            "newer": format_datetime(newer.at),
            "lines": lines_of(self.model, net_changes(rows), hidden_fields, self.is_day),
        }
