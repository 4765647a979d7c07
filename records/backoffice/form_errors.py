"""Where the errors of a form are shown: at the fields and rows that have them, and in the summary above the form."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.utils.html import format_html
from django.utils.text import capfirst

from records.backoffice.forms import RecordFormSet


@dataclass(frozen=True, slots=True)
class Fault:
    """One line of the summary: the field's id and label (empty for a fault of the whole form), and the message."""

    target: str
    label: str
    message: str


def faults_of(form: forms.BaseForm, formsets: Iterable[Any] = ()) -> list[Fault]:
    """Return every fault of the form and of its child rows, in the order of the page."""
    faults = list(_faults(form, ""))
    for formset in formsets:
        faults += [Fault("", "", message) for message in formset.non_form_errors()]
        for place, row in enumerate(formset.forms, start=1):
            name = f"{capfirst(str(formset.model._meta.verbose_name))} {place}"
            faults += _faults(row, name)
    return faults


def _faults(form: forms.BaseForm, row: str) -> Iterator[Fault]:
    for name, messages in form.errors.items():
        bound_field = form[name] if name in form.fields else None
        is_visible = bound_field is not None and not bound_field.is_hidden
        label = str(bound_field.label) if bound_field is not None and is_visible else ""
        location = ", ".join(part for part in (row, label) if part)
        for message in messages:
            yield Fault(bound_field.auto_id if bound_field is not None and is_visible else "", location, str(message))


def show_faults(
    form: forms.BaseForm,
    formsets: Iterable[RecordFormSet],
    fault: ValidationError,
    name_of: Callable[[str], str] = lambda name: name.replace("_", " ").capitalize(),
) -> None:
    """Add every fault to the field or row that it belongs to; if there is none, to the top of the page.

    There, `name_of` says how a field that the form does not have is called, as text or as safe HTML.
    """
    by_relation = {formset.relation: list(formset.row_forms()) for formset in formsets}
    for name, error in _leaves(fault):
        place = error.params or {} if isinstance(error.params, dict) else {}
        relation, idx = place.get("relation"), place.get("idx")
        if relation in by_relation and isinstance(idx, int) and idx < len(by_relation[relation]):
            _add(by_relation[relation][idx], str(place.get("name", "")), error, name_of)
        else:
            _add(form, name or str(relation or ""), error, name_of)


def _add(form: forms.BaseForm, name: str, error: ValidationError, name_of: Callable[[str], str]) -> None:
    message = "; ".join(error.messages)
    name = "change_reason" if name == "reason" and name not in form.fields else name
    if name not in form.fields:
        # The folded copy of a name has to be unique, but users entered the name.
        name = name.removesuffix("_key")
    if name in form.fields:
        form.add_error(name, message)
    else:
        form.add_error(None, format_html("{}: {}", name_of(name), message) if name else message)


def _leaves(fault: ValidationError) -> list[tuple[str, Any]]:
    if hasattr(fault, "error_dict"):
        return [
            ("" if name == NON_FIELD_ERRORS else name, error)
            for name, errors in fault.error_dict.items()
            for error in errors
        ]
    return [("", error) for error in fault.error_list]
