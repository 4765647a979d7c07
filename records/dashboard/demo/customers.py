"""The demo's customers: shops, caterers and wholesalers with the people to talk to there."""

from records.customers import actions
from records.dashboard.demo.place import Place
from records.reference.models import Country, Title
from records.sites.models import Entity

KINDS = (
    ("Retail", "{} Stores", "Buyer"),
    ("Retail", "{} Food Market", "Category manager"),
    ("Food service", "{} Catering", "Head chef"),
    ("Food service", "Hotel {}", "Purchasing manager"),
    ("Retail", "{} Wholesale", "Quality manager"),
)
NAMES = (
    "Northgate",
    "Oakfield",
    "Riverside",
    "Stanton",
    "Bellmore",
    "Fairview",
    "Kingsbridge",
    "Langley",
)
PLACES = {
    True: ("GB", ("Leeds", "Bristol", "Exeter", "Norwich"), (51.0, 54.5), (-3.0, 1.0), "+44 1632 960"),
    False: ("US", ("Portland", "Augusta", "Salem", "Concord"), (42.0, 45.0), (-72.0, -69.0), "+1 207 555 0"),
}
PEOPLE = ("Avery", "Blake", "Casey", "Devon", "Emery", "Finley", "Harper", "Jules")
FAMILIES = ("Ashdown", "Birch", "Calder", "Dunmore", "Easton", "Forsyth", "Galloway")


def fill(place: Place) -> None:
    """Add forty customers at the main site and twelve at the other."""
    code, towns, latitudes, longitudes, telephone = PLACES[place.main]
    country = Country.objects.get(code=code)
    titles = list(place.known(Title).values())
    chance, author = place.chance, place.author()
    place.records["Customer"] = []
    for number in range(40 if place.main else 12):
        folder, pattern, position = KINDS[number % len(KINDS)]
        name, town = pattern.format(NAMES[number // len(KINDS) % len(NAMES)]), towns[number % len(towns)]
        contacts = [
            {
                "title": chance.choice(titles),
                "first_name": PEOPLE[(number + step * 3) % len(PEOPLE)],
                "last_name": FAMILIES[(number * 2 + step) % len(FAMILIES)],
                "position": position if step == 0 else "Goods-in",
                "email": f"contact{step + 1}@customer{number + 1}.example",
                "phone": f"{telephone}{chance.randrange(100, 200)}",
            }
            for step in range(1 + number % 2)
        ]
        values = {
            "name": name,
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
            "entity_folder": place.folder(Entity.CUSTOMER, folder),
            "party_contacts": contacts,
            "lat": f"{chance.uniform(*latitudes):.6f}",
            "lng": f"{chance.uniform(*longitudes):.6f}",
        }
        place.records["Customer"].append(actions.add_customer(place.site.pk, values, author=author))
