"""The form and the notices before personal data is erased from a record."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.fields import TextField
from records.backoffice.forms import ReasonForm
from records.backoffice.wording import field_label
from records.history.erasure import Personal
from records.retention.actions import kept_until, on_hold_since
from records.retention.erasing import texts_that_say_it
from records.sites.models import SiteRecord
from records.sites.text import REASON


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
    """Return what lets a form ask about the record's free texts that contain a personal value; two queries."""

    def fill(form: Any, record: SiteRecord) -> None:
        field, found = form.fields["with_texts"], texts_that_say_it(record, personal)
        if not found:
            field.widget = forms.HiddenInput()
            return
        field.required = True
        labels = ", ".join(field_label(type(record), name) for name in found)
        field.label = gettext("Other texts that contain these values: %(fields)s") % {"fields": labels}

    return fill


def before_erasing(model_admin: Any, request: HttpRequest, record: SiteRecord) -> list[str]:
    """Return what to know before erasing: a legal hold, which refuses it, and the period of retention; two queries."""
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
    return found
