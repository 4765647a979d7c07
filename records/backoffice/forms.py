"""The forms of a record and its child rows: what was changed, why, and what the editor had seen."""

import datetime
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.forms.models import BaseInlineFormSet
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.current import FORM_SITE, FORM_ZONE
from records.backoffice.fields import ReferenceField, ReferencesField, TextField
from records.backoffice.once import FIELD
from records.history.trail import now
from records.sites.text import REASON
from records.sites.writing import Values

OWN_FIELDS = ("change_reason", "larder_seen", FORM_SITE, FORM_ZONE, FIELD)
NO_REASON = _("Say why the record is changed.")


def reason_field(*, required: bool) -> TextField:
    """Return the field that asks for the reason of a change."""
    return TextField(
        label=_("Reason for change"),
        max_length=REASON,
        required=required,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Kept in the record's history."),
    )


class PlainForm(forms.Form):
    """A form whose labels end without a colon. A field without a label has the name of the model's field."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        for name, field in self.fields.items():
            if field.label is None:
                field.label = capfirst(gettext(name.replace("_", " ")))


class ReasonForm(PlainForm):
    """The form of an action on a record: the reason, and in subclasses further fields."""

    required_css_class = "required"
    change_reason = reason_field(required=True)


class ReasonIfAny(ReasonForm):
    """A step for which a reason is optional."""

    change_reason = reason_field(required=False)


class WithoutReason(ReasonForm):
    """A step without a reason."""

    change_reason = None  # type: ignore[assignment]


class CredentialForm(PlainForm):
    """The name of a new key or client, and how long it is valid."""

    name = TextField(label=_("Name"), max_length=100, help_text=_("What will use it, such as “ERP sync”."))
    expires = forms.DateField(
        label=_("Expires"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=_("The last day on which it is valid. Leave empty if it is valid until it is revoked."),
    )

    def clean_expires(self) -> datetime.datetime | None:
        """Return the end of the day that was entered."""
        day = self.cleaned_data["expires"]
        if day is None:
            return None
        if not now().date() <= day <= now().date() + datetime.timedelta(days=3660):
            raise ValidationError(gettext("Choose a day between today and ten years from now."))
        return datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC) + datetime.timedelta(days=1)


class _KeepsTargets:
    """Tells the reference fields of a form what the record refers to at present; labels end without a colon."""

    fields: dict[str, forms.Field]
    instance: models.Model
    initial: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Read the objects that the instance refers to; loads those that were not selected with it."""
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        for name, field in self.fields.items():
            if isinstance(field, ReferencesField):
                field.set_current(self.initial.get(name) or ())
            elif isinstance(field, ReferenceField):
                target = getattr(self.instance, name, None) if getattr(self.instance, f"{name}_id", None) else None
                if target is not None:
                    field.set_current([target])


class RecordForm(_KeepsTargets, forms.ModelForm):  # type: ignore[type-arg]
    """A record's form. The action gets only what the editor changed, so nothing else can change."""

    change_reason = reason_field(required=False)
    larder_seen = forms.CharField(required=False, widget=forms.HiddenInput)
    larder_site = forms.CharField(required=False, widget=forms.HiddenInput)
    larder_zone = forms.CharField(required=False, widget=forms.HiddenInput)
    larder_once = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "change_reason" in self.fields:
            self.fields["change_reason"].initial = ""

    @cached_property
    def content_changed(self) -> list[str]:
        """The names of the record's own fields that the editor changed."""
        return [name for name in self.changed_data if name not in OWN_FIELDS]

    def values(self, *, change: bool) -> Values:
        """Return what the action has to set: the changed fields, or all fields of a new record."""
        names = self.content_changed if change else [name for name in self.fields if name not in OWN_FIELDS]
        return {name: self.cleaned_data[name] for name in names if name in self.cleaned_data}

    def reason(self) -> str:
        """Return the reason that was given, or an empty text."""
        return str(self.cleaned_data.get("change_reason") or "").strip()


class ChildForm(_KeepsTargets, forms.ModelForm):  # type: ignore[type-arg]
    """The form of one child row."""

    def content(self, *, is_new: bool) -> Values:
        """Return the row's values: all of them for a new row, otherwise those that the editor changed."""
        names = [name for name in self.fields if name in self.cleaned_data] if is_new else self.changed_data
        columns = {field.name for field in self._meta.model._meta.concrete_fields if not field.primary_key}
        owner = {name for name, field in self.fields.items() if isinstance(field, forms.models.InlineForeignKeyField)}
        return {name: self.cleaned_data[name] for name in names if name in columns - owner}


class RecordFormSet(BaseInlineFormSet):  # type: ignore[type-arg]
    """The child rows of a record, as the complete new array for its action."""

    @property
    def relation(self) -> str:
        """Return the name of the record's relation in its history and its action."""
        return str(self.fk.remote_field.get_accessor_name())

    def row_forms(self) -> Iterator[Any]:
        """Yield the forms of the remaining and the new rows, in order."""
        deleted_ids = set(map(id, self.deleted_forms))
        for form in self.initial_forms:
            if id(form) not in deleted_ids:
                yield form
        for form in self.extra_forms:
            if form.has_changed() and id(form) not in deleted_ids:
                yield form

    def rows(self) -> list[Values]:
        """Return the complete new array: stored rows with their changed values, then new ones."""
        stored_ids = set(map(id, self.initial_forms))
        return [
            {"id": form.instance.pk, **form.content(is_new=False)}
            if id(form) in stored_ids
            else form.content(is_new=True)
            for form in self.row_forms()
        ]
