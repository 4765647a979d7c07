"""Template tags of the back-office."""

import json
import uuid
from functools import cache
from typing import Any

from django import template
from django.conf import settings
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.template import Context
from django.utils.html import format_html
from django.utils.translation import get_language
from django.utils.translation.trans_real import DjangoTranslation
from django.views.i18n import JavaScriptCatalog

from records.backoffice.datetimes import times_are_in
from records.backoffice.filter_bar import chips, controls, hidden_inputs
from records.backoffice.form_errors import faults_of
from records.backoffice.lists import RecordList
from records.backoffice.once import FIELD
from records.backoffice.statuses import status_tag
from records.backoffice.wording import breakable, in_words, with_article
from records.sites.text import read_uuid

register = template.Library()


@register.simple_tag
def script_words() -> str:
    """Return the texts of scripts in the language of the page, as JSON; an empty text on an English page."""
    language = get_language() or settings.LANGUAGE_CODE
    return "" if language == settings.LANGUAGE_CODE else _words_in(language)


@cache
def _words_in(language: str) -> str:
    catalogue = JavaScriptCatalog()
    catalogue.translation = DjangoTranslation(
        language, domain="djangojs", localedirs=[str(path) for path in settings.LOCALE_PATHS]
    )
    return json.dumps(catalogue.get_catalog(), ensure_ascii=False)


@register.simple_tag
def page_address(changelist: ChangeList, step: int) -> str:
    """Return the URL of the list's page that is this many steps away."""
    return str(changelist.get_query_string({PAGE_VAR: changelist.page_num + step}))


@register.simple_tag(takes_context=True)
def once(context: Context) -> str:
    """Return the hidden field with the form's id, by which the form is acted on once; a refused form keeps its id."""
    form_id = read_uuid(context["request"].POST.get(FIELD, ""))
    return format_html('<input type="hidden" name="{}" value="{}">', FIELD, form_id or uuid.uuid4())


@register.inclusion_tag("backoffice/fault_summary.html")
def fault_summary(form: Any, inline_formsets: Any = ()) -> dict[str, Any]:
    """Show what has to be corrected, with links to the fields; the list gets the focus."""
    return {"faults": faults_of(form, [inline.formset for inline in inline_formsets]) if form.is_bound else []}


@register.inclusion_tag("backoffice/filter_bar.html")
def filter_bar(changelist: RecordList) -> dict[str, object]:
    """Show the list's filters in one form, and the active ones."""
    return {
        "controls": list(controls(changelist)),
        "chips": chips(changelist),
        "hidden_inputs": hidden_inputs(changelist),
        "plural": changelist.opts.verbose_name_plural,
    }


register.simple_tag(times_are_in)
register.filter(status_tag)
register.filter(breakable)
register.filter(in_words)
register.filter(with_article)
