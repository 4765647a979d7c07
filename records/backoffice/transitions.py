"""Buttons for one action on a record: archive, restore, and the transitions that a room declares.

A room adds its own to `record_actions`:

    SUBMIT = RecordStep("submit", "Submit for review", "change", act=submit, applies=lambda record: record.is_draft)

`act(model_admin, request, record, reason, data)` calls the room's action, most often through `by_key` or `on_row`;
ValidationErrors are shown on the step's page. `form` (a subclass of ReasonForm) asks for more than the reason, such as
a password: its cleaned data is `data`; `initial(record)` fills it in, and `fill(form, record)` completes it, for
example with the choices of a field.
`consequences(model_admin, request, record)` returns what the step's page shows before the user confirms: sentences, and
`Listing`s of records.

A step is taken on the record that its page showed: if the record was changed meanwhile, the page shows the changes and
what was typed, as the record's form does, and the user decides again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.backoffice import extension_points
from records.backoffice.conflicts import (
    StaleError,
    merge,
    newest_change,
    refuse_when_stale,
    take_changes_meanwhile,
)
from records.backoffice.current import author_of, show_times_of, site_at
from records.backoffice.extension_points import RecordLink, RecordPanel
from records.backoffice.form_errors import show_faults
from records.backoffice.forms import ReasonForm
from records.backoffice.once import process_once, refuse_when_done
from records.backoffice.permissions import Pages, SitePermissions
from records.backoffice.wording import field_label
from records.sites.models import SiteRecord
from records.sites.uses import uses_of

RECORD_CHANGED = _("%(record)s was changed.")


Act = Callable[[Any, HttpRequest, Any, str, dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """A sentence with a list below it, such as links to records."""

    text: str
    items: Sequence[Any]


Consequences = Callable[[Any, HttpRequest, Any], Sequence[str | Listing]]
SEARCH_FROM, PART = "searched", "part"
"""The parameters of a step's address: the place where a part of the search begins, and whether to answer it alone."""


@dataclass(frozen=True, slots=True)
class SearchPart:
    """What one part of a search found, the sentences below, and where the next part begins; empty after the last."""

    listing: Listing | None
    sentences: Sequence[str]
    next_place: str = ""
    has_former: bool = False
    """Whether parts before the last one have found something."""


class UnknownPlaceError(Exception):
    """Raised for a place that does not belong to the search, or if the record or the rights have changed since."""


SearchFunction = Callable[[Any, HttpRequest, Any, str], SearchPart]
"""Searches for a record, with `(model_admin, request, record, place)`; raises UnknownPlaceError."""


@dataclass(frozen=True, slots=True)
class RecordStep:
    """One button of a record's page: its name in the URL, label, who may use it, when, and what it does.

    `permission` is an action of the model's own permissions (`archive`) or a full name, such as
    `complaints.complete_complaint`. The texts are translated when they are shown. `act` is called as
    `(model_admin, request, record, reason, data)`.
    """

    name: str
    label: Any
    permission: str
    act: Act
    applies: Callable[[Any], bool] = lambda record: True
    fault_of: Callable[[Any], str] = lambda record: ""
    """Returns why a record to which the step applies does not allow it now; an empty text if it does."""
    form: type[ReasonForm] = ReasonForm
    explanation: Any = ""
    done: Any = RECORD_CHANGED
    initial: Callable[[Any], dict[str, Any]] | None = None
    consequences: Consequences | None = None
    search: SearchFunction | None = None
    """Searches many records for further consequences, in parts that the page loads once it is shown (`SEARCH_FROM`)."""
    is_next: bool = False
    """Whether this is what usually happens next to the record, so that its button is the primary one."""
    fill: Callable[[Any, Any], None] | None = None
    checks_itself: bool = False
    """Whether `act` checks `data["precondition"]` under its own lock, since it stores a file before that."""


def by_key(action: Callable[..., Any], *fields: str) -> Act:
    """Return what a step does if a room's action takes the record's site and Id, and the named fields of the form."""

    def act(model_admin: object, request: HttpRequest, record: SiteRecord, reason: str, data: dict[str, Any]) -> None:
        values = {name: data[name] for name in fields}
        action(record.site_id, record.pk, **values, author=author_of(request), reason=reason)

    return act


def on_row(action: Callable[..., Any], *fields: str) -> Act:
    """Return what a step does if a room's action takes the row itself, and the values of the named fields in order."""

    def act(model_admin: object, request: HttpRequest, record: object, reason: str, data: dict[str, Any]) -> None:
        action(record, *(data[name] for name in fields), author=author_of(request), reason=reason)

    return act


def active_in(*statuses: str) -> Callable[[Any], bool]:
    """Return whether a step applies: to active records that have one of the statuses."""
    return lambda record: not record.is_archived and record.record_status in statuses


def _archive(model_admin: Any, request: HttpRequest, record: object, reason: str, data: dict[str, object]) -> None:
    model_admin.archive(request, record, archived=True, reason=reason)


def _users(model_admin: Any, request: HttpRequest, record: Any) -> list[str]:
    site_id = getattr(record, "site_id", None)
    uses = uses_of(record, lambda model: model_admin.visible_rows(request, model, site_id))
    return [
        gettext("Used by %(use)s. Those records keep it; new records cannot choose it.") % {"use": use} for use in uses
    ]


def _restore(model_admin: Any, request: HttpRequest, record: object, reason: str, data: dict[str, object]) -> None:
    model_admin.archive(request, record, archived=False, reason=reason)


ARCHIVE = RecordStep(
    "archive",
    _("Archive"),
    "archive",
    _archive,
    applies=lambda record: not record.is_archived,
    explanation=_("An archived record stays readable and keeps its history; it is no longer offered or listed."),
    done=_("%(record)s was archived."),
    consequences=_users,
)
RESTORE = RecordStep(
    "restore",
    _("Restore"),
    "archive",
    _restore,
    applies=lambda record: record.is_archived,
    explanation=_("The record is active again."),
    done=_("%(record)s was restored."),
)


class StepPages(SitePermissions):
    """The pages for a record's buttons."""

    record_actions: Sequence[RecordStep] = (ARCHIVE, RESTORE)

    own_pages: ClassVar[Pages] = (("<str:object_id>/do/<str:name>/", "step_view", "step"),)

    def may_step(self, request: HttpRequest, step: RecordStep, record: Any) -> bool:
        """Return whether the user may take the step on the record."""
        permission = step.permission if "." in step.permission else self.permission(step.permission)
        return access.may(request.user, self.site_id_of(record), permission)

    def steps_for(self, request: HttpRequest, record: Any) -> list[dict[str, object]]:
        """Return label and URL of the record's steps that the user may take, and whether the button is primary.

        A step that the record does not allow now has the reason (`fault`) instead of a button.
        """
        return [
            {
                "label": step.label,
                "name": step.name,
                "url": self.url_of("step", quote(record.pk), step.name),
                "fault": (fault := step.fault_of(record)),
                "is_next": step.is_next and not fault,
            }
            for step in self.record_actions
            if step.applies(record) and self.may_step(request, step, record)
        ]

    def own_links(self, request: HttpRequest, record: Any) -> Sequence[RecordLink]:
        """Return the room's own buttons that open another page of the record; override it. It must not run a query."""
        return ()

    def own_panels(self, request: HttpRequest, record: Any) -> Sequence[RecordPanel]:
        """Return the room's own parts of the record's page below its fields; override it."""
        return ()

    def additions_to(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """Return the sentences, buttons and parts that this app, and those above it, add to the record's pages."""
        additions = extension_points.additions_to(request, record)
        links = [*self.own_links(request, record), *additions["record_links"]]
        return {
            **additions,
            "record_links": links,
            "record_panels": [*self.own_panels(request, record), *additions["record_panels"]],
        }

    def step_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Ask for the reason and for everything else that the step needs, then take the step."""
        record = self.record_to_edit(request, object_id)
        step = next((step for step in self.record_actions if step.name == name), None)
        if step is None:
            raise Http404
        if not self.may_step(request, step, record):
            raise PermissionDenied
        if request.method == "POST":
            refuse_when_done(request, self.page_of(record.pk))
        if step.applies(record):
            text = step.fault_of(record)
        else:
            text = gettext("“%(label)s” is no longer possible: %(record)s was changed after you opened its page.")
            text %= {"label": step.label, "record": record}
        if not text:
            if request.method == "GET" and step.search is not None and SEARCH_FROM in request.GET:
                return self._search_response(request, step, record, step.search)
            return self.step_response(request, step, record)
        if request.method == "POST":
            # Somebody was faster, perhaps the same person on another page: what was typed stays, beside the changes.
            return self.step_response(request, step, record, too_late=text)
        self.message_user(request, text, messages.WARNING)
        return redirect(self.page_of(record.pk))

    def record_to_edit(self, request: HttpRequest, object_id: str) -> Any:
        """Return a record that the user may see, with the id of its newest change (`newest_change`); raises Http404.

        One statement reads both. So whatever is written later counts as not seen by the user, who is shown it, and does
        not overwrite it with what the record said before.
        """
        record = self.record_or_404(request, object_id, newest_change=newest_change(self.model))
        record.newest_change = str(record.newest_change or "")
        return record

    def _search_response(
        self, request: HttpRequest, step: RecordStep, record: Any, search: SearchFunction
    ) -> HttpResponse:
        """Search one part, and show what it found: in the step's page, or alone for the script of that page."""
        try:
            result = search(self, request, record, request.GET[SEARCH_FROM])
        except UnknownPlaceError:
            return self.page_response(
                request,
                "backoffice/unreadable.html",
                gettext("The search cannot go on here"),
                http_status=400,
                sentence=gettext(
                    "The address is not complete, or %(record)s or your rights were changed during the search. Other "
                    "records have to be searched again from the beginning."
                )
                % {"record": record},
                back=f"?{SEARCH_FROM}",
                back_label=gettext("Search again from the beginning"),
            )
        if PART in request.GET:
            return TemplateResponse(request, "backoffice/searched.html", {"searched": result})
        return self.step_response(request, step, record, part=result)

    def step_response(
        self,
        request: HttpRequest,
        step: RecordStep,
        record: Any,
        *,
        too_late: str = "",
        part: SearchPart | None = None,
    ) -> HttpResponse:
        """Show the page of a step that the user may take on a record of `record_to_edit`; with a full form, take it.

        `too_late` is why it cannot be taken any more; `part` is a part of a search that the page shows. If the
        record has changed since the form was shown, nothing is done: the page shows the changes.
        """
        show_times_of(site_at(request, self.site_id_of(record)))
        address = self.page_of(record.pk)
        conflict: dict[str, Any] | None = None
        if request.method == "POST":
            data = request.POST.copy()
            if changes := take_changes_meanwhile(record, data):
                page: Any = self
                current_form = self._initial_form(step, record)
                merged = merge(self.model, data, current_form, changes)
                conflict = page.conflict_context(request, record, current_form, merged)
            seen_change = data.get("larder_seen", "")
            form = self._fill(step, record, step.form(data, request.FILES))
        else:
            form, seen_change = self._initial_form(step, record), record.newest_change
        if too_late:
            form.add_error(None, too_late)
        elif form.is_valid() and conflict is None:
            try:
                self._take(request, step, record, form.cleaned_data, seen_change)
            except ValidationError as fault:
                show_faults(form, (), fault, lambda name: self._field_link(request, record, name))
            except StaleError:
                # Somebody changed the record between reading and locking it: read it again, and show the changes.
                return self.step_response(request, step, self.record_to_edit(request, str(record.pk)))
            else:
                self.message_user(request, step.done % {"record": record}, messages.SUCCESS)
                return redirect(address)
        return self.page_response(
            request,
            "backoffice/step.html",
            f"{step.label}: {record}",
            original=record,
            step=step,
            consequences=step.consequences(self, request, record)
            if step.consequences is not None and not too_late
            else (),
            is_searched=step.search is not None and not too_late,
            searched=part,
            form=form,
            conflict=conflict,
            seen=seen_change,
            back=address,
        )

    @staticmethod
    def _fill(step: RecordStep, record: object, form: ReasonForm) -> ReasonForm:
        if step.fill is not None:
            step.fill(form, record)
        return form

    def _initial_form(self, step: RecordStep, record: object) -> ReasonForm:
        """Return the step's form as it is shown for the present record."""
        return self._fill(step, record, step.form(initial=step.initial(record) if step.initial is not None else {}))

    def _take(
        self, request: HttpRequest, step: RecordStep, record: Any, data: dict[str, Any], seen_change: str
    ) -> None:
        """Take the step in one transaction; raises StaleError if the record was changed since the user saw it.

        The step comes first, so that each room takes its locks in its own order. Its Changes are stored when the
        transaction ends, and thus are not among those that are compared.
        """
        reason, check = data.get("change_reason", "").strip(), partial(refuse_when_stale, seen_change=seen_change)
        with process_once(request, self.page_of(record.pk)):
            if step.checks_itself:
                step.act(self, request, record, reason, {**data, "precondition": check})
                return
            step.act(self, request, record, reason, data)
            check(type(record)._base_manager.select_for_update(of=("self",), no_key=True).get(pk=record.pk))

    def _field_link(self, request: HttpRequest, record: Any, name: str) -> str:
        """Return a field's label, with a link to the field in the record's form for those who may use it."""
        page: Any = self
        label = field_label(self.model, name)
        if not page.has_change_permission(request, record):
            return label
        return format_html('<a href="{}#id_{}">{}</a>', self.url_of("change", quote(record.pk)), name, label)
