"""The filter bar above every list: all filters in one form, and the active ones as chips that can be removed.

A room declares its filters as in Django. References are searched as in forms: `list_filter = (ArchivedFilter,
("customer", ReferenceFilter), ("date", DaysFilter))`.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

from django.contrib.admin import FieldListFilter
from django.contrib.admin.views.main import PAGE_VAR, SEARCH_VAR
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext

from records.backoffice.autocomplete import choose_url
from records.backoffice.current import current_site
from records.backoffice.date_filters import DaysFilter
from records.backoffice.lists import RecordList


class ReferenceFilter(FieldListFilter):
    """Filters a list to the records that refer to one of some entries; the index of the foreign key serves it."""

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any, field_path: str
    ) -> None:
        self.parameter = f"{field_path}__id__exact"
        super().__init__(field, request, params, model, model_admin, field_path)
        site = current_site(request)
        self.address = choose_url(field, site.pk if site is not None else None)

    def expected_parameters(self) -> list[str | None]:
        """Return the only parameter, which can be repeated."""
        return [self.parameter]

    def choices(self, changelist: object) -> Iterator[Any]:
        """Yield nothing: users search for entries instead."""
        yield from ()


def own_parameters(spec: Any, changelist: RecordList) -> list[str]:
    """Return the filter's parameters that the list's URL contains."""
    return [name for name in spec.expected_parameters() if any(changelist.url_parameters.getlist(name))]


def chips(changelist: RecordList) -> list[dict[str, str]]:
    """Return the active filters, each with the URL of the list without it."""
    active = []
    if changelist.query:
        active.append(
            {
                "text": gettext("Search: “%(query)s”") % {"query": changelist.query},
                "url": changelist.without([SEARCH_VAR]),
            }
        )
    for spec in changelist.filter_specs:
        parameter_names = own_parameters(spec, changelist)
        if parameter_names and (text := _description(spec, changelist, parameter_names)):
            active.append({"text": f"{capfirst(str(spec.title))}: {text}", "url": changelist.without(parameter_names)})
    return active + [{"text": text, "url": changelist.without([name])} for name, text in changelist.restrictions]


def _description(spec: Any, changelist: Any, parameter_names: list[str]) -> str:
    if isinstance(spec, ReferenceFilter):
        names = changelist.names_of(spec.field.related_model, changelist.url_parameters.getlist(parameter_names[0]))
        return gettext(" or ").join(names) or gettext("nothing at this site")
    if isinstance(spec, DaysFilter):
        return spec.description()
    labels = [str(choice["display"]) for choice in spec.choices(changelist) if choice["selected"]]
    return ", ".join(labels) or ", ".join(changelist.url_parameters.getlist(parameter_names[0]))


def controls(changelist: RecordList) -> Iterator[dict[str, Any]]:
    """Yield the parts of the bar's form: each filter's kind, title, parameter names and chosen values."""
    for spec in changelist.filter_specs:
        title = capfirst(str(spec.title))
        if isinstance(spec, DaysFilter):
            spans = [(key, label, key == spec.span) for key, (label, *_) in spec.spans.items()]
            yield {"kind": "days", "title": title, "names": spec.names, "spec": spec, "spans": spans}
        elif isinstance(spec, ReferenceFilter):
            keys = changelist.url_parameters.getlist(spec.parameter)
            rows = changelist.rows_of(spec.field.related_model, keys)
            options = [(str(row.pk), str(row)) for row in rows]
            yield {"kind": "reference", "title": title, "name": spec.parameter, "options": options, "spec": spec}
        else:
            yield {"kind": "choice", "title": title, **_select(spec, changelist)}


def _select(spec: Any, changelist: object) -> dict[str, object]:
    """Return the only parameter of a choice filter and its choices: value, label, and whether it is selected."""
    parameter_names = [str(name) for name in spec.expected_parameters()]
    options: list[tuple[str, object, bool]] = []
    name = parameter_names[0]
    for choice in spec.choices(changelist):
        parameters = parse_qs(str(choice["query_string"]).removeprefix("?"))
        chosen_parameters = [(key, parameters[key][-1]) for key in parameter_names if key in parameters]
        if chosen_parameters and (chosen_parameters[0][0] == name or not any(value for value, _, _ in options)):
            name = chosen_parameters[0][0]
        value = chosen_parameters[0][1] if chosen_parameters and chosen_parameters[0][0] == name else ""
        if value or not chosen_parameters:
            options.append((value, choice["display"], choice["selected"]))
    return {"name": name, "options": options}


def hidden_inputs(changelist: RecordList) -> list[tuple[str, str]]:
    """Return the hidden values of the bar's form: the search, the order, and filters that a link has set."""
    filter_parameters = {name for spec in changelist.filter_specs for name in spec.expected_parameters()} | {PAGE_VAR}
    return [
        (name, value)
        for name, values in changelist.url_parameters.lists()
        if name not in filter_parameters
        for value in values
    ]
