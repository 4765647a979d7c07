"""The list filters with a few choices, each of which is one condition."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.current import user_of

FilterOptions = Mapping[str, tuple[Any, Q | Callable[[HttpRequest], Q]]]
"""Label and condition of each choice, by its value in the URL."""


class ChoiceFilter(admin.SimpleListFilter):
    """A list filter; a subclass sets `title`, `parameter_name` and `options`."""

    options: ClassVar[FilterOptions] = {}
    usual: ClassVar[tuple[Any, Q] | None] = None
    """Label and condition of the list without this filter; by default it shows all rows."""

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """Return the choices beside the usual one."""
        return [(value, str(label)) for value, (label, _condition) in self.options.items()]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Yield the choices, with the usual one under its own label."""
        first, *other_choices = super().choices(changelist)
        yield first if self.usual is None else {**first, "display": self.usual[0]}
        yield from other_choices

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Filter the list."""
        option = self.options.get(self.value() or "", self.usual)
        if option is None:
            return queryset
        condition = option[1]
        return queryset.filter(condition if isinstance(condition, Q) else condition(request))


class ArchivedFilter(ChoiceFilter):
    """Shows active records unless the user asks for archived ones."""

    title = _("active or archived")
    parameter_name = "archived"
    usual = (_("Active"), Q(is_archived=False))
    options: ClassVar[FilterOptions] = {"yes": (_("Archived"), Q(is_archived=True)), "all": (_("All"), Q())}


class OwnerFilter(ChoiceFilter):
    """Shows the records that belong to the user, to nobody, or to somebody who no longer has access."""

    title = _("mine or without owner")
    parameter_name = "mine"
    options: ClassVar[FilterOptions] = {
        "yes": ("", lambda request: Q(owner=user_of(request))),
        "nobody": (_("Without owner"), Q(owner=None)),
        "gone": (_("Owner without access"), Q(owner__is_active=False)),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices; a kind of record that always has an owner does not offer those without."""
        my_records = ("yes", gettext("My %(kinds)s") % {"kinds": model_admin.opts.verbose_name_plural})
        _owned, nobody, gone = super().lookups(request, model_admin)
        return [my_records, nobody, gone] if model_admin.opts.get_field("owner").null else [my_records, gone]
