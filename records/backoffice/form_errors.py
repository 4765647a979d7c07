"""Where the faults that an action raises are shown: at the fields and rows that they name."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from records.backoffice.forms import RecordFormSet


def show_faults(form: forms.BaseForm, formsets: Iterable[RecordFormSet], fault: ValidationError) -> None:
    """Add every fault to the field or row that it names, to the page's head where it names none."""
    by_relation = {formset.relation: list(formset.row_forms()) for formset in formsets}
    for name, error in _leaves(fault):
        place = error.params or {} if isinstance(error.params, dict) else {}
        relation, idx = place.get("relation"), place.get("idx")
        if relation in by_relation and isinstance(idx, int) and idx < len(by_relation[relation]):
            _add(by_relation[relation][idx], str(place.get("name", "")), error)
        else:
            _add(form, name or str(relation or ""), error)


def _add(form: forms.BaseForm, name: str, error: ValidationError) -> None:
    message = "; ".join(error.messages)
    name = "change_reason" if name == "reason" and name not in form.fields else name
    if name not in form.fields:
        # A name's folded copy is what is unique; the name is what was entered.
        name = name.removesuffix("_key")
    if name in form.fields:
        form.add_error(name, message)
    else:
        form.add_error(None, f"{name.replace('_', ' ').capitalize()}: {message}" if name else message)


def _leaves(fault: ValidationError) -> list[tuple[str, Any]]:
    if hasattr(fault, "error_dict"):
        return [
            ("" if name == NON_FIELD_ERRORS else name, error)
            for name, errors in fault.error_dict.items()
            for error in errors
        ]
    return [("", error) for error in fault.error_list]
