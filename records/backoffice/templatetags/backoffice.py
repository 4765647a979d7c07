"""Template tags of the back-office."""

from typing import Any

from django import template
from django.contrib.admin.views.main import PAGE_VAR

from records.backoffice.datetimes import times_are_in
from records.backoffice.filter_bar import chips, controls, kept
from records.backoffice.form_errors import faults_of

register = template.Library()


@register.simple_tag
def page_address(changelist: Any, step: int) -> str:
    """Return the URL of the list's page that is this many steps away."""
    return str(changelist.get_query_string({PAGE_VAR: changelist.page_num + step}))


@register.inclusion_tag("backoffice/fault_summary.html")
def fault_summary(form: Any, inline_formsets: Any = ()) -> dict[str, Any]:
    """Show what has to be corrected, with links to the fields; the list gets the focus."""
    return {"faults": faults_of(form, [inline.formset for inline in inline_formsets]) if form.is_bound else []}


@register.inclusion_tag("backoffice/filter_bar.html")
def filter_bar(changelist: Any) -> dict[str, Any]:
    """Show the list's filters in one form, and the active ones."""
    return {
        "controls": list(controls(changelist)),
        "chips": chips(changelist),
        "kept": kept(changelist),
        "plural": changelist.opts.verbose_name_plural,
    }


register.simple_tag(times_are_in)
