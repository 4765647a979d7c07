"""The demo's customers: shops, caterers and wholesalers with the people to talk to there."""

from records.customers import actions
from records.dashboard.demo.demo_site import DemoSite, content
from records.reference.models import Country, Title
from records.sites.models import Entity


def fill(place: DemoSite) -> None:
    """Add forty customers at the main site and twelve at the other."""
    data = content("customers")
    kinds, names, first_names, last_names = (data[name] for name in ("kinds", "names", "first_names", "last_names"))
    region = data["places"][place.key]
    towns, telephone = region["towns"], region["telephone"]
    country = Country.objects.get(code=region["country"])
    titles = list(place.shared_entries(Title).values())
    chance, author = place.chance, place.author()
    place.records["Customer"] = []
    for number in range(40 if place.main else 12):
        kind, town = kinds[number % len(kinds)], towns[number % len(towns)]
        contacts = [
            {
                "title": chance.choice(titles),
                "first_name": first_names[(number + step * 3) % len(first_names)],
                "last_name": last_names[(number * 2 + step) % len(last_names)],
                "position": kind["position"] if step == 0 else "Goods-in",
                "email": f"contact{step + 1}@customer{number + 1}.example",
                "phone": f"{telephone}{chance.randrange(100, 200)}",
            }
            for step in range(1 + number % 2)
        ]
        values = {
            "name": kind["name"].format(names[number // len(kinds) % len(names)]),
            "code": f"C{number + 1:03d}",
            "postal_address_street": f"Accounts department\n{chance.randrange(1, 90)} Station Road",
            "postal_address_city": town,
            "postal_address_po_box": f"PO Box {chance.randrange(10, 999)}" if number % 4 == 0 else "",
            "postal_address_country": country,
            "physical_address_street": f"{chance.randrange(1, 90)} Station Road",
            "physical_address_city": town,
            "physical_address_country": country,
            "telephone": f"{telephone}{chance.randrange(100, 200)}",
            "note": "Deliveries before seven in the morning." if number % 5 == 0 else "",
            "entity_folder": place.folder(Entity.CUSTOMER, kind["folder"]),
            "party_contacts": contacts,
            "lat": f"{chance.uniform(*region['latitudes']):.6f}",
            "lng": f"{chance.uniform(*region['longitudes']):.6f}",
        }
        place.records["Customer"].append(actions.add_customer(place.site.pk, values, author=author))
