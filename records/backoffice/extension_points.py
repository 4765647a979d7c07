"""What rooms above the back-office add to its pages, registered when they start (AppConfig.ready).

additions.start_page = start.context         # what the start page shows: (admin_site, request) -> context
additions.add_pages(pages.addresses)         # more addresses under /admin/: (admin_site) -> URL patterns
additions.add_menu_links(rights.links)       # more lines of the menu: (request) -> links
additions.add_record_links(printing.links)   # more buttons on records' pages: (request, record) -> links
additions.add_list_links(quick.links)        # more buttons above lists: (request, model) -> links
additions.add_record_notices(pages.notices)  # more lines above records: (request, record) -> notices
additions.add_record_panels(pages.panels)    # more parts below records' forms: (request, record) -> panels
additions.add_profile_panels(pages.panels)   # more parts of one's own profile page: (request) -> panels
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

StartPage = Callable[[Any, HttpRequest], dict[str, Any]]
Pages = Callable[[Any], Sequence[Any]]


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


MenuLinks = Callable[[HttpRequest], Sequence[RecordLink]]
RecordLinks = Callable[[HttpRequest, Any], Sequence[RecordLink]]
ListLinks = Callable[[HttpRequest, type[Any]], Sequence[RecordLink]]
RecordNotices = Callable[[HttpRequest, Any], Sequence[RecordNotice]]
RecordPanels = Callable[[HttpRequest, Any], Sequence[RecordPanel]]
ProfilePanels = Callable[[HttpRequest], Sequence[RecordPanel]]

start_page: StartPage | None = None
_pages: list[Pages] = []
_menu_links: list[MenuLinks] = []
_record_links: list[RecordLinks] = []
_list_links: list[ListLinks] = []
_record_notices: list[RecordNotices] = []
_record_panels: list[RecordPanels] = []
_profile_panels: list[ProfilePanels] = []


def add_pages(pages: Pages) -> None:
    """Add URLs to the admin site; the function is called once, at the first request."""
    if pages not in _pages:
        _pages.append(pages)


def add_menu_links(links: MenuLinks) -> None:
    """Add lines to the groups of the menu; called on every page, so it must not run a query."""
    if links not in _menu_links:
        _menu_links.append(links)


def menu_links_for(request: HttpRequest) -> list[RecordLink]:
    """Return all added lines of the menu that the user may open."""
    return [link for links in _menu_links for link in links(request)]


def add_record_links(links: RecordLinks) -> None:
    """Add buttons to the pages of records; called on every such page, so it must not run a query."""
    if links not in _record_links:
        _record_links.append(links)


def add_list_links(links: ListLinks) -> None:
    """Add buttons above the lists of records; called on every list, so it must not run a query."""
    if links not in _list_links:
        _list_links.append(links)


def list_links_for(request: HttpRequest, model: type[Any]) -> list[RecordLink]:
    """Return all added buttons of the model's list that the user may open."""
    return [link for links in _list_links for link in links(request, model)]


def add_record_notices(notices: RecordNotices) -> None:
    """Add sentences above records; called before the buttons on every such page, with a fixed number of queries."""
    if notices not in _record_notices:
        _record_notices.append(notices)


def add_record_panels(panels: RecordPanels) -> None:
    """Add parts below the forms of records' pages; called on every such page, with a fixed number of queries."""
    if panels not in _record_panels:
        _record_panels.append(panels)


def add_profile_panels(panels: ProfilePanels) -> None:
    """Add parts to the profile page that people see of themselves, with a fixed number of queries."""
    if panels not in _profile_panels:
        _profile_panels.append(panels)


def profile_panels_for(request: HttpRequest) -> list[RecordPanel]:
    """Return all added parts of the profile page."""
    return [panel for panels in _profile_panels for panel in panels(request)]


def shown_on(request: HttpRequest, record: Any) -> dict[str, Any]:
    """Return all added sentences, buttons and parts of the record's page that the user may open."""
    notices = [notice for notices in _record_notices for notice in notices(request, record)]
    panels = [panel for panels in _record_panels for panel in panels(request, record)]
    return {"record_notices": notices, "record_links": links_for(request, record), "record_panels": panels}


def pages_of(admin_site: Any) -> list[Any]:
    """Return all added URLs; the room that added them has already protected each."""
    return [page for pages in _pages for page in pages(admin_site)]


def links_for(request: HttpRequest, record: Any) -> list[RecordLink]:
    """Return all added buttons of the record that the user may open."""
    return [link for links in _record_links for link in links(request, record)]
