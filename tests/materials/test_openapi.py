"""The OpenAPI document of /materials, and a client generated from it."""

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from tests.make.materials import make_api


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
    found = {}
    for path in ("/materials/", "/materials/{id}"):
        for method, described in document["paths"][path].items():
            found[described["operationId"]] = (path, method)
            scope = "materials:read" if method == "get" else "materials:write"
            assert described["security"] == [{"subscriptionKey": [], "accessToken": [scope]}]
            (site,) = [one for one in described["parameters"] if one["name"] == "siteId"]
            assert site["required"]
            for response in (one for status, one in described["responses"].items() if status != "304"):
                assert {"application/json", "application/xml"} <= response["content"].keys()
    assert found == {
        "GetListOfMaterial": ("/materials/", "get"),
        "PostMaterial": ("/materials/", "post"),
        "GetMaterialById": ("/materials/{id}", "get"),
        "DeleteMaterial": ("/materials/{id}", "delete"),
    }
    assert "/materials" not in document["paths"]


@pytest.mark.django_db(transaction=True)
def test_a_generated_client_adds_and_lists(document: Any, tmp_path: Path, live_server: Any, site: Any) -> None:
    source = tmp_path / "openapi.json"
    source.write_text(json.dumps(document))
    command = shutil.which("openapi-python-client", path=str(Path(sys.executable).parent))
    assert command, "openapi-python-client is not installed."
    made = subprocess.run(
        [command, "generate", "--path", str(source), "--meta", "none", "--output-path", str(tmp_path / "made_client")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    sys.path.insert(0, str(tmp_path))
    try:
        package = "made_client"
        client_module = importlib.import_module(f"{package}.client")
        models = importlib.import_module(f"{package}.models")
        post = importlib.import_module(f"{package}.api.materials.post_material")
        listed = importlib.import_module(f"{package}.api.materials.get_list_of_material")
        api = make_api(site)
        client = client_module.AuthenticatedClient(
            base_url=live_server.url,
            token=api.token,
            headers={"Ocp-Apim-Subscription-Key": api.holder.secret},
        )
        one = post.sync(
            client=client, body=models.MaterialRequest(external_id="G-1", name="Generated"), site_id=str(site.pk)
        )
        assert one.message == "Success.", one
        many = post.sync(
            client=client,
            body=[models.MaterialRequest(external_id=f"G-{number}", name="Generated") for number in (1, 2)],
            site_id=str(site.pk),
        )
        assert [row.error for row in many] == ["", ""], many
        rows = listed.sync(client=client, site_id=str(site.pk))
        assert [(row.external_id, row.name) for row in rows] == [("G-1", "Generated"), ("G-2", "Generated")]
        assert str(rows[0].id) == str(one.id)
        client.get_httpx_client().close()
    finally:
        sys.path.remove(str(tmp_path))
