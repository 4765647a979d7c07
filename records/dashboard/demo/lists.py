"""The demo's reference lists and folders of a site."""

from decimal import Decimal

from records.dashboard.demo.place import Place
from records.reference.actions import add_entry
from records.reference.lists import SITE_LISTS
from records.sites.actions import add_folder
from records.sites.models import Entity

BAKERY = {
    "Product": [
        "Sourdough loaf 800 g",
        "Wholemeal loaf 400 g",
        "Butter croissant",
        "Oat cookie 6-pack",
        "Apple turnover",
        "Seeded roll 4-pack",
        "Rye bread 500 g",
        "Brioche bun 4-pack",
        "Blueberry muffin",
        "Gluten-free loaf 300 g",
    ],
    "Brand": ["Hillside", "Miller's Choice", "Private label"],
    "ProductionUnit": ["Bread line 1", "Bread line 2", "Pastry line", "Packing hall"],
}
DAIRY = {
    "Product": [
        "Whole milk 1 l",
        "Semi-skimmed milk 1 l",
        "Natural yoghurt 500 g",
        "Strawberry yoghurt 4-pack",
        "Salted butter 250 g",
        "Double cream 300 ml",
        "Mature cheddar 400 g",
        "Cottage cheese 300 g",
    ],
    "Brand": ["Harbour", "Coastal Farm"],
    "ProductionUnit": ["Pasteuriser A", "Pasteuriser B", "Filling line", "Cheese room"],
}
BOTH = {
    "Nonconformance": [
        "Foreign body",
        "Allergen labelling",
        "Off taste or odour",
        "Mould",
        "Short weight",
        "Damaged packaging",
        "Wrong date code",
        "Late delivery",
        "Quality below standard",
    ],
    "Cause": ["Supplier", "Equipment", "Process", "People", "Transport", "Unknown"],
    "ComplaintSource": ["Consumer", "Retailer", "Authority", "Internal"],
    "ComplaintMethod": ["Telephone", "E-mail", "Letter", "Web form"],
    "Department": ["Production", "Quality", "Hygiene", "Warehouse", "Engineering", "Purchasing"],
    "MaterialCategory": ["Ingredient", "Packaging", "Cleaning agent", "Processing aid"],
    "Checklist": [
        "GMP walk",
        "Glass and hard plastic",
        "Allergen control",
        "Cleaning and disinfection",
        "Pest control",
        "HACCP plan review",
    ],
    "UnitOfMeasure": ["kg", "g", "l", "pieces", "cases"],
}
QUESTIONS = {
    "GMP walk": [
        "Are hands washed on entering production?",
        "Are hair and beards covered completely?",
        "Are there no loose items above open product?",
        "Are floors and drains clean and free of standing water?",
        "Is waste taken away before it piles up?",
    ],
    "Glass and hard plastic": [
        "Does the register name every glass and hard plastic item?",
        "Are all items whole and clean?",
        "Are breakages recorded with their clean-up and release?",
    ],
    "Allergen control": [
        "Are allergens stored apart and labelled?",
        "Is the changeover cleaning verified and signed?",
        "Do labels name every allergen of the recipe?",
        "Can rework be traced by its allergens?",
    ],
    "Cleaning and disinfection": [
        "Is the cleaning plan followed and signed?",
        "Are chemicals at the strength that the plan names?",
        "Do swab results meet their limits?",
    ],
    "Pest control": [
        "Are bait points in place and undamaged?",
        "Are doors and windows proofed?",
        "Are the contractor's findings closed in time?",
    ],
    "HACCP plan review": [
        "Does the flow diagram show what is really done?",
        "Are critical limits supported by evidence?",
        "Were deviations followed by a corrective action?",
        "Are monitoring records complete and reviewed?",
    ],
}
"""What the checklists ask."""

Score = tuple[str, int | None]
Band = tuple[str, str, str, str]
RATINGS: dict[str, tuple[list[Score], list[Band]]] = {
    "Conformity": (
        [
            ("Conforms", 10),
            ("Minor nonconformity", 6),
            ("Major nonconformity", 2),
            ("Critical", 0),
            ("Not applicable", None),
        ],
        [
            ("0", "59.99", "D", "Fail"),
            ("60", "74.99", "C", "Pass with conditions"),
            ("75", "89.99", "B", "Pass"),
            ("90", "100", "A", "Pass"),
        ],
    ),
    "Yes or no": (
        [("Yes", 1), ("No", 0), ("Not seen", None)],
        [("0", "79.99", "Not met", "Fail"), ("80", "100", "Met", "Pass")],
    ),
}
FOLDERS = {
    Entity.EMPLOYEE: ["Production", "Quality", "Office"],
    Entity.COMPLAINT: ["Consumers", "Retail"],
    Entity.DOCUMENT: ["Policies", "HACCP", "Procedures", "Work instructions", "Forms"],
    Entity.ITEM: ["Scales and thermometers", "Machines"],
    Entity.CUSTOMER: ["Retail", "Food service"],
    Entity.AUDIT_PROGRAM: ["Internal", "External"],
    Entity.MATERIAL: ["Ingredients", "Packaging"],
}


def _questions(name: str) -> list[dict[str, str]]:
    return [{"question": question} for question in QUESTIONS[name]]


def fill(place: Place) -> None:
    """Add the site's lists, ratings and folders."""
    author = place.author(place.admin)
    names = {**(BAKERY if place.main else DAIRY), **BOTH}
    for list_name, entries in names.items():
        place.lists[list_name] = [
            add_entry(
                SITE_LISTS[list_name],
                {
                    "name": name,
                    "code": f"{list_name[:2].upper()}{idx:02d}",
                    "idx": idx,
                    **({"questions": _questions(name)} if list_name == "Checklist" else {}),
                },
                author=author,
                site_id=place.site.pk,
            )
            for idx, name in enumerate(entries, 1)
        ]
    place.lists["Rating"] = [
        add_entry(
            SITE_LISTS["Rating"],
            {
                "name": name,
                "idx": idx,
                "responses": [{"name": text, "score": score, "fails": text == "Critical"} for text, score in responses],
                "bands": [
                    {"from_score": Decimal(low), "to_score": Decimal(high), "rating": grade, "result": result}
                    for low, high, grade, result in bands
                ],
            },
            author=author,
            site_id=place.site.pk,
        )
        for idx, (name, (responses, bands)) in enumerate(RATINGS.items(), 1)
    ]
    for entity, folders in FOLDERS.items():
        place.folders[entity] = {
            name: add_folder(place.site.pk, entity, name, idx=idx, author=author) for idx, name in enumerate(folders)
        }
