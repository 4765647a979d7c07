"""The form and the notices before personal data is erased from a record."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.about import link_to
from records.backoffice.fields import TextField
from records.backoffice.forms import ReasonForm
from records.backoffice.transitions import Consequences, Listing
from records.backoffice.wording import field_label
from records.history.erasure import Personal
from records.retention.actions import kept_until, on_hold_since
from records.retention.around import attachments_that_say
from records.retention.erasing import texts_that_name_it, words_in_history
from records.retention.mentions import mentions
from records.retention.words import Words
from records.sites.models import SiteRecord
from records.sites.text import REASON

SHOWN = 50
"""How many other records the page of an erasure lists."""


class EraseForm(ReasonForm):
    """Why personal data is erased; the reason stays, so it must not say who the person is."""

    change_reason = TextField(
        label=_("Reason for erasing"),
        max_length=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Kept in the record's history, so do not name the person. For example: “Asked by letter”."),
    )


class EraseWithTextsForm(EraseForm):
    """The form that also asks whether to erase other texts of the record that contain data of the person."""

    with_texts = forms.TypedChoiceField(
        required=False,
        choices=(
            ("yes", _("Erase these texts completely, here and in the history")),
            ("no", _("Leave them: they cannot be found by these values later")),
        ),
        coerce=lambda given: given == "yes",
        widget=forms.RadioSelect,
        help_text=_("Afterwards, write again what is still needed, without the name."),
    )


def asking_about_texts(personal: Personal) -> Callable[[Any, Any], None]:
    """Return a function that makes a form ask about the free texts that contain a personal value; four queries."""

    def fill(form: Any, record: SiteRecord) -> None:
        field = form.fields["with_texts"]
        found = [field_label(type(record), name) for name in texts_that_name_it(record, personal)]
        attached = attachments_that_say(record, Words(words_in_history(record, personal)))
        found += [gettext("name and description of the attachment “%(name)s”") % {"name": row} for row in attached]
        if not found:
            field.widget = forms.HiddenInput()
            return
        field.required = True
        labels = ", ".join(found)
        field.label = gettext("Other texts that contain these values: %(fields)s") % {"fields": labels}

    return fill


def before_erasing(model_admin: object, request: HttpRequest, record: SiteRecord) -> list[str]:
    """Return what the person who erases must know about the record: a legal hold, and the period of retention."""
    name, found = record._meta.verbose_name, []
    if on_hold_since(record) is not None:
        found.append(
            gettext("This %(name)s is on legal hold. Nothing can be erased until the hold is lifted.") % {"name": name}
        )
    if until := kept_until(record):
        found.append(
            gettext("The %(name)s is kept at least until %(until)s. It stays; only personal data is erased.")
            % {"name": name, "until": until.isoformat()}
        )
    found.append(gettext("What saved filters and the names of imported files say of the person is erased too."))
    return found


def who_else_names(personal: Personal, identifying: Sequence[str]) -> Consequences:
    """Return a function that lists the other records that identify the person, as far as the user sees them.

    `identifying` is as for `mentions`. It takes three queries, and two for each kind of record.
    """

    def listed(model_admin: Any, request: HttpRequest, record: SiteRecord) -> list[str | Listing]:
        found = list[str | Listing]()

        def seen(model: type[SiteRecord]) -> tuple[QuerySet[Any], Collection[str]] | None:
            rows = model_admin.rows_seen(request, model, record.site_id)
            pages: Any = admin.site._registry.get(model)
            return None if rows is None else (rows, pages.hidden_fields(request, record))

        others = mentions(record, personal, identifying, seen)
        if others is None:
            return [gettext("The record contains none of the values, so no other record was searched.")]
        if others.found:
            text = gettext(
                "These other records contain one of the values and stay as they are. Look at them first: after the "
                "erasure, they cannot be found by that value."
            )
            links = [format_html("{} ({})", link_to(one.record), ", ".join(one.labels)) for one in others.found[:SHOWN]]
            found.append(Listing(text, [*links, *([gettext("and others")] if len(others.found) > SHOWN else [])]))
        else:
            found.append(gettext("No other record that you may see was found to contain one of the values."))
        if others.are_cut:
            found.append(gettext("Many records may contain one of the values, and not all were looked at. Search too."))
        owner = personal.relation and record._meta.get_field(personal.relation).related_model
        labels = ", ".join(field_label(owner or type(record), name) for name in identifying)
        text = gettext(
            "Other records are searched for these values, phone numbers in any spelling, all others as they are "
            "spelled here: %(fields)s. Attached files and the history of other records are not searched."
        )
        found.append(text % {"fields": labels})
        return found

    return listed
