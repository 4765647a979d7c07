"""The demo's materials: what a bakery and a dairy buy, as their ERP system knows it."""

from materials import upserts
from records.dashboard.demo.place import Place
from records.sites.models import Entity

# Name, category, countries of origin, risk.
Line = tuple[str, str, list[str], str]

BAKERY: list[Line] = [
    ("Strong white flour", "Ingredient", ["GB", "CA"], "Low"),
    ("Wholemeal flour", "Ingredient", ["GB"], "Low"),
    ("Rye flour", "Ingredient", ["DE", "PL"], "Low"),
    ("Rolled oats", "Ingredient", ["GB"], "Medium"),
    ("Salted butter", "Ingredient", ["IE", "GB"], "Medium"),
    ("Whole egg, pasteurised", "Ingredient", ["GB"], "High"),
    ("Caster sugar", "Ingredient", ["GB"], "None"),
    ("Sesame seed", "Ingredient", ["IN"], "High"),
    ("Sunflower seed", "Ingredient", ["BG"], "Medium"),
    ("Bramley apple pieces", "Ingredient", ["GB"], "Medium"),
    ("Dried blueberries", "Ingredient", ["CA", "US"], "Medium"),
    ("Fresh yeast", "Ingredient", ["GB"], "Low"),
    ("Sea salt", "Ingredient", ["GB"], "None"),
    ("Ascorbic acid", "Processing aid", ["CN"], "Medium"),
    ("Tin release oil", "Processing aid", ["NL"], "Low"),
    ("Bread bag, printed", "Packaging", ["TR"], "Low"),
    ("Pastry tray, rPET", "Packaging", ["GB"], "Low"),
    ("Corrugated case", "Packaging", ["GB"], "None"),
    ("Alkaline foam cleaner", "Cleaning agent", ["DE"], "Medium"),
    ("Food-safe disinfectant", "Cleaning agent", ["GB"], "Medium"),
]
DAIRY: list[Line] = [
    ("Raw cow's milk", "Ingredient", ["US"], "High"),
    ("Live yoghurt culture", "Ingredient", ["DK"], "Medium"),
    ("Strawberry compote", "Ingredient", ["MX", "US"], "Medium"),
    ("Vegetarian rennet", "Processing aid", ["DK"], "Low"),
    ("Calcium chloride", "Processing aid", ["DE"], "Low"),
    ("Dairy salt", "Ingredient", ["US"], "None"),
    ("HDPE bottle 1 l", "Packaging", ["US"], "Low"),
    ("Yoghurt pot 125 g", "Packaging", ["US"], "Low"),
    ("Nitric acid CIP", "Cleaning agent", ["US"], "Medium"),
    ("Peracetic acid", "Cleaning agent", ["US"], "Medium"),
]
FOLDERS = {"Ingredient": "Ingredients", "Processing aid": "Ingredients", "Packaging": "Packaging"}
SUPPLIERS = ("MILL", "NORD", "GREE", "PACK", "KOEN", "ATLA")


def fill(place: Place) -> None:
    """Add the site's materials, in a few grades each, in one call as an ERP system would, then correct some."""
    categories = {entry.name: entry for entry in place.lists.get("MaterialCategory", [])}
    desired = []
    for line, (name, category, countries, risk) in enumerate(BAKERY if place.main else DAIRY):
        for grade in range(1, 4):
            supplier = place.chance.choice(SUPPLIERS)
            number = 100_000 + line * 10 + grade
            values = {
                "external_id": f"{place.site.code}-{number}",
                "name": name if grade == 1 else f"{name}, grade {grade}",
                "our_code": f"{category[:3].upper()}-{line + 1:03}-{grade}",
                "supplier_code": f"{supplier}-{place.chance.randrange(1000, 9999)}",
                "description": f"{name} to specification {number}.\nStore cool and dry.",
                "material_category": categories.get(category),
                "entity_folder": place.folder(Entity.MATERIAL, FOLDERS.get(category, "")),
                "country_of_origin": countries,
                "risk": risk,
            }
            desired.append(upserts.DesiredMaterial(values))
    author = place.author()
    made = upserts.upsert_all(place.site.pk, desired, author=author, may=lambda permission: True)
    for stored in made[::7]:
        if isinstance(stored, Exception):
            raise stored
        correction = upserts.DesiredMaterial({"risk": "High"}, stored.material.pk, "Supplier lost its certificate")
        upserts.upsert(place.site.pk, correction, author=author, may=lambda permission: True)
    place.records["Material"] = [stored.material for stored in made if isinstance(stored, upserts.Stored)]
