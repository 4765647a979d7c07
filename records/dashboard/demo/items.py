"""The demo's items: the scales, thermometers, detectors and machines of a site."""

from records.dashboard.demo.demo_site import DemoSite, content
from records.items import actions
from records.sites.models import Entity


def fill(place: DemoSite) -> None:
    """Add the site's items, numbered by kind."""
    author = place.author()
    place.records["Item"] = []
    for kind in content("items")[place.key]:
        code, is_machine = kind["code"], kind["folder"] == "Machines"
        for number, location in enumerate(kind["locations"], 1):
            values = {
                "name": f"{kind['name']} {number}",
                "code": f"{code}-{number:02d}",
                "serial_number": f"{code}{place.chance.randrange(10_000, 99_999)}",
                "location": location,
                "notes": "" if is_machine else "Calibrated yearly; certificate in the laboratory.",
                "entity_folder": place.folder(Entity.ITEM, kind["folder"]),
            }
            place.records["Item"].append(actions.add_item(place.site.pk, values, author=author))
