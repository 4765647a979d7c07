"""What rooms above the back-office add to its pages, in the method `add_to_backoffice` of their AppConfig.

    extension_points.add(rights, training)

The functions of these modules return only what the user of the request may open.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

from django.db.models import Model
from django.http import HttpRequest
from django.urls import URLPattern

from records.backoffice import rooms
from records.backoffice.about import url_of_page
from records.backoffice.current import may_here
from records.backoffice.to_do import ToDo

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RecordLink:
    """A link to another page: a button of a record's page or list, or a line in a group of the menu."""

    name: str
    label: str
    url: str
    group: str = "Administration"
    is_next: bool = False
    """Whether the button of a record is the primary one, since it leads to what usually happens next."""


@dataclass(frozen=True, slots=True)
class RecordPanel:
    """A part of a record's page below its form, or of the profile page: its template and the template's content."""

    template: str
    context: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecordNotice:
    """A sentence above a record, on the page that it is read on and above its form."""

    text: str
    is_warning: bool = False


start_page: Callable[[HttpRequest], dict[str, object]] | None = None
"""What the start page shows: its context."""
pages: list[URLPattern] = []
"""More URLs below /admin/, whose views only people who may enter the back-office reach."""
menu_links: list[Callable[[HttpRequest], Sequence[RecordLink]]] = []
"""More lines in the groups of the menu; called on every page, so it must not run a query."""
record_links: list[Callable[[HttpRequest, object], Sequence[RecordLink]]] = []
"""More buttons on records' pages: (request, record); called on every such page, so it must not run a query."""
list_links: list[Callable[[HttpRequest, type[Any]], Sequence[RecordLink]]] = []
"""More buttons above lists: (request, model); called on every list, so it must not run a query."""
record_notices: list[Callable[[HttpRequest, object], Sequence[RecordNotice]]] = []
"""Sentences above records: (request, record); called before the buttons, with a fixed number of queries."""
record_panels: list[Callable[[HttpRequest, object], Sequence[RecordPanel]]] = []
"""More parts below records' forms: (request, record), with a fixed number of queries."""
to_do: list[ToDo] = []
"""More sections of what the signed-in person has to do, on the start page."""

profile_panels: list[Callable[[HttpRequest], Sequence[RecordPanel]]] = []
"""More parts of the profile page that people see of themselves, with a fixed number of queries."""


def menu_link(
    name: str, label: object, page: str, *any_of: str, group: str = "Administration"
) -> Callable[[HttpRequest], Sequence[RecordLink]]:
    """Return the function that gives those who have one of the permissions at the current site a line in the menu."""

    def links(request: HttpRequest) -> Sequence[RecordLink]:
        return (RecordLink(name, str(label), url_of_page(page), group),) if may_here(request, *any_of) else ()

    return links


_FUNCTIONS: dict[str, list[Any]] = {
    "menu_links": menu_links,
    "record_links": record_links,
    "list_links": list_links,
    "record_notices": record_notices,
    "record_panels": record_panels,
    "profile_panels": profile_panels,
}


def add(*modules: ModuleType) -> None:
    """Add the URLs of each module, its functions with the names of the lists above, and its sections of `to_do`."""
    for module in modules:
        pages.extend(getattr(module, "urlpatterns", ()))
        to_do.extend(getattr(module, "SECTIONS", ()))
        for name, functions in _FUNCTIONS.items():
            if hasattr(module, name):
                functions.append(getattr(module, name))


def all_of(functions: Sequence[Callable[..., Sequence[T]]], *arguments: object) -> list[T]:
    """Return what all rooms have added to one of the lists above for this request."""
    rooms.load()
    return [item for function in functions for item in function(*arguments)]


def additions_to(request: HttpRequest, record: Model) -> dict[str, Any]:
    """Return all added sentences, buttons and parts of the record's page that the user may open."""
    # The order matters: the links use what the notices have read of the record.
    return {
        "record_notices": all_of(record_notices, request, record),
        "record_links": all_of(record_links, request, record),
        "record_panels": all_of(record_panels, request, record),
    }
