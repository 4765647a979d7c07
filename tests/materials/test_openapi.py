"""The OpenAPI document of /materials."""

import json
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator


@pytest.fixture(scope="module")
def document() -> Any:
    """Return the document as the product makes it."""
    return json.loads(json.dumps(SchemaGenerator().get_schema(public=True), default=str))


def test_the_document_names_both_credentials_and_both_media_types(document: Any) -> None:
    schemes = document["components"]["securitySchemes"]
    assert schemes["subscriptionKey"] == {"type": "apiKey", "in": "header", "name": "Ocp-Apim-Subscription-Key"}
    assert schemes["accessToken"]["type"] == "oauth2"
    flow = schemes["accessToken"]["flows"]["clientCredentials"]
    assert set(flow["scopes"]) == {"materials:read", "materials:write"}
    operations = {}
    for path in ("/materials/", "/materials/{id}"):
        for method, operation in document["paths"][path].items():
            operations[operation["operationId"]] = (path, method)
            scope = "materials:read" if method == "get" else "materials:write"
            assert operation["security"] == [{"subscriptionKey": [], "accessToken": [scope]}]
            (site,) = [one for one in operation["parameters"] if one["name"] == "siteId"]
            assert site["required"]
            for response in (one for status, one in operation["responses"].items() if status != "304"):
                assert {"application/json", "application/xml"} <= response["content"].keys()
    assert operations == {
        "GetListOfMaterial": ("/materials/", "get"),
        "PostMaterial": ("/materials/", "post"),
        "GetMaterialById": ("/materials/{id}", "get"),
        "DeleteMaterial": ("/materials/{id}", "delete"),
    }
    assert "/materials" not in document["paths"]
