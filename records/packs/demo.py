"""The demo's pack: the last twelve months of the main site, asked for by its manager and made by the worker."""

from records.dashboard.demo.demo_site import DemoSite
from records.packs.actions import request_pack
from records.packs.pages import TITLES, presets


def fill(place: DemoSite) -> None:
    """Ask for one pack with everything in it."""
    manager = place.users.get("manager")
    if not place.main or manager is None:
        return
    _, first, last = presets(place.today.date())[0]
    request_pack(place.site, manager, first, last, list(TITLES), author=place.author(manager))
