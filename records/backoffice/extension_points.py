"""What rooms above the back-office add to its pages, told when they start (AppConfig.ready).

additions.start_page = start.context         # what the start page shows: (admin_site, request) -> context
additions.add_pages(pages.addresses)         # more addresses under /admin/: (admin_site) -> URL patterns
additions.add_menu_links(rights.links)       # more lines of the menu: (request) -> links
additions.add_record_links(printing.links)   # more buttons on records' pages: (request, record) -> links
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

StartPage = Callable[[Any, HttpRequest], dict[str, Any]]
Pages = Callable[[Any], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class RecordLink:
    """A button of a record's page that leads to another page about it, such as its print view."""

    name: str
    label: str
    url: str


MenuLinks = Callable[[HttpRequest], Sequence[RecordLink]]
RecordLinks = Callable[[HttpRequest, Any], Sequence[RecordLink]]

start_page: StartPage | None = None
_pages: list[Pages] = []
_menu_links: list[MenuLinks] = []
_record_links: list[RecordLinks] = []


def add_pages(pages: Pages) -> None:
    """Add addresses to the admin site; they are asked for once, when the first request comes."""
    if pages not in _pages:
        _pages.append(pages)


def add_menu_links(links: MenuLinks) -> None:
    """Add lines to the menu's Administration; asked on every page, so it must cost no query."""
    if links not in _menu_links:
        _menu_links.append(links)


def menu_links_for(request: HttpRequest) -> list[RecordLink]:
    """Return all added lines of the menu that are open to the user."""
    return [link for links in _menu_links for link in links(request)]


def add_record_links(links: RecordLinks) -> None:
    """Add buttons to the pages of records; asked on every such page, so it must cost no query."""
    if links not in _record_links:
        _record_links.append(links)


def pages_of(admin_site: Any) -> list[Any]:
    """Return all added addresses, each already guarded by whoever added it."""
    return [page for pages in _pages for page in pages(admin_site)]


def links_for(request: HttpRequest, record: Any) -> list[RecordLink]:
    """Return all added buttons of the record that are open to the user."""
    return [link for links in _record_links for link in links(request, record)]
