"""The demo's items: the scales, thermometers, detectors and machines of a site."""

from records.dashboard.demo.place import Place
from records.items import actions
from records.sites.models import Entity

INSTRUMENTS, MACHINES = "Scales and thermometers", "Machines"
BAKERY = (
    ("Metal detector", "MD", MACHINES, ("Bread line 1", "Bread line 2", "Pastry line")),
    ("Check weigher", "CW", MACHINES, ("Bread line 1", "Bread line 2", "Packing hall")),
    ("Tunnel oven", "OV", MACHINES, ("Bread line 1", "Bread line 2")),
    ("Spiral mixer", "MX", MACHINES, ("Bread line 1", "Pastry line")),
    ("Slicer", "SL", MACHINES, ("Packing hall", "Packing hall")),
    ("Flow wrapper", "FW", MACHINES, ("Packing hall", "Pastry line")),
    ("Bench scale", "SC", INSTRUMENTS, ("Weighing room", "Pastry line", "Packing hall")),
    ("Probe thermometer", "TH", INSTRUMENTS, ("Goods-in", "Weighing room", "Bread line 1", "Laboratory")),
    ("Data logger", "DL", INSTRUMENTS, ("Chiller 1", "Chiller 2", "Freezer")),
)
DAIRY = (
    ("Plate heat exchanger", "HX", MACHINES, ("Pasteuriser A", "Pasteuriser B")),
    ("Homogeniser", "HO", MACHINES, ("Pasteuriser A",)),
    ("Rotary filler", "RF", MACHINES, ("Filling line",)),
    ("Cheese vat", "CV", MACHINES, ("Cheese room", "Cheese room")),
    ("Flow diversion valve", "FD", INSTRUMENTS, ("Pasteuriser A", "Pasteuriser B")),
    ("Probe thermometer", "TH", INSTRUMENTS, ("Raw milk intake", "Cheese room", "Laboratory")),
)


def fill(place: Place) -> None:
    """Add the site's items, numbered by kind."""
    author = place.author()
    place.records["Item"] = []
    for name, code, folder, locations in BAKERY if place.main else DAIRY:
        for number, location in enumerate(locations, 1):
            values = {
                "name": f"{name} {number}",
                "code": f"{code}-{number:02d}",
                "serial_number": f"{code}{place.chance.randrange(10_000, 99_999)}",
                "location": location,
                "notes": "Calibrated yearly; certificate in the laboratory." if folder == INSTRUMENTS else "",
                "entity_folder": place.folder(Entity.ITEM, folder),
            }
            place.records["Item"].append(actions.add_item(place.site.pk, values, author=author))
