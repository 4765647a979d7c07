"""The form and the notices before personal data is erased from a record."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.fields import TextField
from records.backoffice.forms import ReasonForm
from records.retention.actions import kept_until, on_hold_since
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


def before_erasing(model_admin: Any, request: HttpRequest, record: SiteRecord) -> list[str]:
    """Return what to know before erasing: a legal hold, which refuses it, and the period of retention; two queries."""
    name, found = record._meta.verbose_name, []
    if on_hold_since(record) is not None:
        found.append(
            gettext("This %(name)s is on legal hold. Lift the hold first; until then erasing is refused.")
            % {"name": name}
        )
    if until := kept_until(record):
        found.append(
            gettext("The %(name)s is kept at least until %(until)s. It stays; only personal data is erased.")
            % {"name": name, "until": until.isoformat()}
        )
    return found
