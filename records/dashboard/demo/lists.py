"""The demo's reference lists and folders of a site."""

from decimal import Decimal

from records.dashboard.demo.demo_site import DemoSite, content
from records.reference.actions import add_entry
from records.reference.lists import SITE_LISTS
from records.sites.actions import add_folder
from records.sites.models import Entity


def fill(place: DemoSite) -> None:
    """Add the site's lists, ratings and folders."""
    author, data = place.author(place.admin), content("lists")
    questions = {name: [{"question": text} for text in texts] for name, texts in data["questions"].items()}
    for list_name, entries in (data[place.key] | data["both"]).items():
        place.lists[list_name] = [
            add_entry(
                SITE_LISTS[list_name],
                {
                    "name": name,
                    "code": f"{list_name[:2].upper()}{idx:02d}",
                    "idx": idx,
                    **({"questions": questions[name]} if list_name == "Checklist" else {}),
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
                "name": rating["name"],
                "idx": idx,
                "responses": [
                    {"name": response["name"], "score": response.get("score"), "fails": response["name"] == "Critical"}
                    for response in rating["responses"]
                ],
                "bands": [
                    {**band, "from_score": Decimal(band["from_score"]), "to_score": Decimal(band["to_score"])}
                    for band in rating["bands"]
                ],
            },
            author=author,
            site_id=place.site.pk,
        )
        for idx, rating in enumerate(data["ratings"], 1)
    ]
    for entity, folders in data["folders"].items():
        place.folders[entity] = {
            name: add_folder(place.site.pk, Entity(entity), name, idx=idx, author=author)
            for idx, name in enumerate(folders)
        }
