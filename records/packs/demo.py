"""The demo's pack: the last twelve months of the main site, asked for by its manager."""

from records.dashboard.demo.place import Place
from records.packs.actions import ask_for_pack
from records.packs.pages import TITLES, presets
from records.packs.tasks import make_pack


def fill(place: Place) -> None:
    """Make one pack with everything in it."""
    manager = place.users.get("manager")
    if not place.main or manager is None:
        return
    _, first, last = presets(place.today.date())[0]
    pack = ask_for_pack(place.site, manager, first, last, list(TITLES), author=place.author(manager))
    make_pack.call(str(pack.pk))
