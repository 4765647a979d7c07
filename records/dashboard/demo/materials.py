"""The demo's materials: what a bakery and a dairy buy, as their ERP system knows it."""

from materials import upserts
from records.dashboard.demo.demo_site import DemoSite, content
from records.sites.models import Entity


def fill(place: DemoSite) -> None:
    """Add the site's materials, in a few grades each, in one call as an ERP system would, then correct some."""
    categories = {entry.name: entry for entry in place.lists.get("MaterialCategory", [])}
    desired = []
    data = content("materials")
    for line, row in enumerate(data[place.key]):
        name, category = row["name"], row["category"]
        for grade in range(1, 4):
            supplier = place.chance.choice(data["suppliers"])
            number = 100_000 + line * 10 + grade
            values = {
                "external_id": f"{place.site.code}-{number}",
                "name": name if grade == 1 else f"{name}, grade {grade}",
                "our_code": f"{category[:3].upper()}-{line + 1:03}-{grade}",
                "supplier_code": f"{supplier}-{place.chance.randrange(1000, 9999)}",
                "description": f"{name} to specification {number}.\nStore cool and dry.",
                "material_category": categories.get(category),
                "entity_folder": place.folder(Entity.MATERIAL, data["folders"].get(category, "")),
                "country_of_origin": row["countries"],
                "risk": row["risk"],
            }
            desired.append(upserts.DesiredMaterial(values))
    author = place.author()
    results = upserts.upsert_all(place.site.pk, desired, author=author, may=lambda permission: True)
    for result in results[::7]:
        if isinstance(result, Exception):
            raise result
        correction = upserts.DesiredMaterial({"risk": "High"}, result.material.pk, "Supplier lost its certificate")
        upserts.upsert(place.site.pk, correction, author=author, may=lambda permission: True)
    place.records["Material"] = [result.material for result in results if isinstance(result, upserts.StoredMaterial)]
