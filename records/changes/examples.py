"""Worked examples of the change endpoint."""

from records.operations.examples import CALLER, MOMENT, Example, sample

GET_CHANGE_LIST = (
    Example(
        title="The first change of an item",
        query={"after": "0", "limit": "1", "entity": "Item"},
        answer=[
            {
                "Number": 1,
                "Date": MOMENT,
                "Entity": "Item",
                "RecordId": sample("Item", "Metal detector 2"),
                "Operation": "AddItem",
                "Channel": "API",
                "AuthorId": CALLER,
                "Fields": ["SiteSequenceId", "Name", "Code", "SerialNumber", "Location", "Notes"],
            }
        ],
        differs=("Number", "Date", "Fields"),
    ),
)
