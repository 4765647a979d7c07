"""Worked examples of the category endpoint: one for each list, and a rating with its responses and bands."""

from typing import Any

from records.operations.examples import CALLER, CALLER_NAME, Example, sample
from records.reference import seed
from records.reference.lists import LISTS, SYSTEM_LISTS

RESPONSES: list[dict[str, Any]] = [
    {"name": "Yes", "description": "In order", "score": 2},
    {"name": "Partly", "description": "", "score": 1},
    {"name": "No", "description": "Consumers could be harmed", "score": 0, "fails": True},
    {"name": "Not seen", "description": "", "score": None},
]
BANDS: list[dict[str, Any]] = [
    {"from_score": 0, "to_score": 79, "rating": "B", "result": "Fail"},
    {"from_score": 79, "to_score": 100, "rating": "A", "result": "Pass"},
]
RATING_NAME = "Yes, partly, no or not seen"
RATING = sample("Rating", RATING_NAME, responses=RESPONSES, bands=BANDS)
NAMES = {
    "Product": "Rye bread 800 g",
    "Brand": "Hillside",
    "ProductionUnit": "Line 2",
    "Nonconformance": "Foreign body: plastic",
    "ComplaintSource": "Consumer",
    "ComplaintMethod": "Telephone",
    "Rating": RATING_NAME,
}
"""The entry in the example of a site's list, if examples of other rooms use one too."""


def row(key: str, name: str, code: str = "", idx: int = 0) -> dict[str, Any]:
    """Return a row of a list as it is answered."""
    return {"Id": key, "Name": name, "Code": code, "Idx": idx, "IsArchived": False}


def of_list(list_name: str) -> tuple[Example, ...]:
    """Return the example of a list: its first entry, found by its code, or one of a site's, found by its name."""
    if list_name in SYSTEM_LISTS:
        key, code, name = seed.system_entries()[list_name][0]
        return (Example(query={"code": code.lower()}, answer=[row(str(key), name, code, 1)]),)
    name = NAMES.get(list_name, f"An entry of {list_name}")
    return (Example(query={"name": name.lower()}, answer=[row(sample(list_name, name), name)]),)


GET_LIST = {list_name: of_list(list_name) for list_name in LISTS}
GET_RATING = (
    Example(
        id=RATING,
        answer={
            **row(RATING, RATING_NAME),
            "Response": [
                {
                    "Id": sample("RatingResponse", response["name"]),
                    "Name": response["name"],
                    "Description": response["description"],
                    "Score": response["score"],
                    "Idx": idx,
                    "Fails": response.get("fails", False),
                }
                for idx, response in enumerate(RESPONSES)
            ],
            "ScoreBand": [
                {
                    "Id": sample("ScoreBand", band["rating"]),
                    "From": band["from_score"],
                    "To": band["to_score"],
                    "Rating": band["rating"],
                    "Result": band["result"],
                }
                for band in BANDS
            ],
        },
    ),
)
FOLDER = sample("EntityFolder", "Retailers", entity="customer")
GET_FOLDER_LIST = (Example(query={"entity": "customer"}, answer=[row(FOLDER, "Retailers")]),)
GET_SITE_LIST = (Example(answer=[row(sample("Site", "the site"), "Hillside Bakery")]),)
GET_USER_LIST = (
    Example(
        query={"name": CALLER_NAME.lower()},
        answer=[{**row(CALLER, CALLER_NAME), "EmailAddress": "ann.baker@hillside.example"}],
        differs=("EmailAddress",),
    ),
)
