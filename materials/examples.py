"""Worked examples of the materials endpoint."""

from records.operations.examples import CALLER, MOMENT, Example, done, sample

SITE = {"siteId": sample("Site", "the site")}
FLOUR, RYE = sample("Material", "Strong white flour"), sample("Material", "Rye flour")
STAMPS = {"created": MOMENT, "lastModified": MOMENT, "createdBy": CALLER, "lastModifiedBy": CALLER, "isArchived": False}
BODY = {
    "externalId": "ERP/100001",
    "name": "Strong white flour",
    "ourCode": "ING-001",
    "supplierCode": "MILL-4471",
    "description": "Protein 12 to 13 %.\nStore cool and dry.",
    "materialCategoryId": sample("MaterialCategory", "Milled cereals"),
    "entityFolderId": sample("EntityFolder", "Ingredients", entity="material"),
    "countryOfOrigin": ["GB", "CA"],
    "risk": "Low",
    "reasonForChange": "New in the range",
}
READ = {"Id": FLOUR, **{name: BODY[name] for name in ("externalId", "name")}, "siteSequenceId": 1}
READ = {**READ, **{name: value for name, value in BODY.items() if name not in READ}, **STAMPS}

POST_MATERIAL = (
    Example(title="One material", query=SITE, body=BODY, answer=done(FLOUR)),
    Example(
        title="Several, each on its own",
        query=SITE,
        body=[
            {"externalId": "ERP/100001", "name": "Strong white flour"},
            {"externalId": "ERP/100002", "name": "Rye flour", "countryOfOrigin": ["DE"]},
            {"externalId": "ERP/100003"},
        ],
        answer=[
            {"externalId": "ERP/100001", **done(FLOUR), "Outcome": "Unchanged", "Fields": []},
            {"externalId": "ERP/100002", **done(RYE), "Outcome": "Added", "Fields": []},
            {
                "externalId": "ERP/100003",
                "Error": "ValidationFailed",
                "Message": "name: This field is required.",
                "Id": "",
                "Outcome": "Refused",
                "Fields": [{"Field": "name", "Code": "RequiredField", "Message": "This field is required."}],
            },
        ],
    ),
)
GET_LIST_OF_MATERIAL = (Example(query={**SITE, "externalId": "ERP/100001"}, answer=[READ]),)
GET_MATERIAL_BY_ID = (
    Example(title="By external id, its slash encoded", id="ERP%2F100001", query=SITE, answer=READ),
    Example(title="By Id", id=FLOUR, query=SITE, answer=READ),
)
DELETE_MATERIAL = (Example(id=FLOUR, query={**SITE, "reasonForChange": "No longer bought"}, answer=done(FLOUR)),)
