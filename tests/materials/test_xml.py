"""Answers in XML."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from materials import renderers
from materials.models import Material

ODD = "a & <b> ]]> \"q\" 'p' é € 😀 \ufffe\uffff\u0085 \t\n end "


def parse(answer: Any) -> ET.Element:
    assert answer["Content-Type"] == "application/xml; charset=utf-8", answer.content
    return ET.fromstring(answer.content)  # noqa: S314 (our own answer)


def xml(api: Any, path: str) -> ET.Element:
    return parse(api.get(path, Accept="application/xml"))


def test_the_list_holds_one_element_a_material_with_every_field_in_the_documents_order(materials: Any) -> None:
    materials.upsert({"externalId": "A", "name": ODD, "countryOfOrigin": ["NZ", "<AU>"], "description": ODD})
    materials.upsert({"externalId": "B", "name": ""})
    root = xml(materials, materials.at())
    assert root.tag == "ExternalIdMaterialDtoArray"
    assert [child.tag for child in root] == ["ExternalIdMaterialDto"] * 2
    shapes = materials.get(materials.at()).json()
    for child, shape in zip(root, shapes, strict=True):
        assert [one.tag for one in child] == list(shape)
        for one in child:
            value = shape[one.tag]
            if one.tag == "countryOfOrigin":
                assert [entry.text for entry in one] == value
                assert {entry.tag for entry in one} <= {"string"}
            elif isinstance(value, bool):
                assert one.text == str(value).lower()
            else:
                text = "" if value is None else str(value)
                assert (one.text or "") == text.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def test_an_empty_list_is_an_empty_root(materials: Any) -> None:
    root = xml(materials, materials.at())
    assert (root.tag, len(root)) == ("ExternalIdMaterialDtoArray", 0)


def test_one_material_a_write_and_an_array_of_results_are_xml_too(materials: Any) -> None:
    fields = parse(materials.upsert({"externalId": "A", "name": "x"}, Accept="application/xml"))
    assert {one.tag: one.text or "" for one in fields} == {
        "Error": "",
        "Message": "Success.",
        "Id": str(Material.objects.get().pk),
    }
    assert xml(materials, materials.at("A")).tag == "ExternalIdMaterialDto"
    rows = parse(materials.upsert([{"externalId": "<&>", "name": "x"}, {"externalId": "C"}], Accept="application/xml"))
    assert [[one.tag for one in row] for row in rows] == [
        ["externalId", "Error", "Message", "Id", "Outcome", "Fields"]
    ] * 2
    assert [row.find("Error").text or "" for row in rows] == ["", "ValidationFailed"]  # type: ignore[union-attr]
    deleted = parse(materials.send("DELETE", materials.at("A"), Accept="application/xml"))
    assert deleted.find("Message").text == "Success."  # type: ignore[union-attr]


def test_every_refusal_is_xml_with_the_same_fields(materials: Any) -> None:
    accept = {"Accept": "application/xml"}
    refusal = materials.get(materials.at(), Authorization="", **accept)
    body = materials.upsert({"externalId": "\u0001", "na\u0001<me": 1, "risk": "x"}, **accept)
    answers = [
        refusal,
        materials.get("/materials/", **accept),
        materials.get(materials.at("none"), **accept),
        materials.put(materials.at(), {}, **accept),
        materials.upsert(b"{", **accept),
        materials.send("POST", materials.at(), "x", content_type="text/plain", **accept),
        materials.get(materials.at(serch="x"), **accept),
        body,
    ]
    assert [one.status_code for one in answers] == [401, 400, 404, 405, 400, 415, 400, 400]
    for answer in answers:
        root = parse(answer)
        assert root.tag == "ErrorResult"
        assert [one.tag for one in root] == ["Error", "Message", "Id", "Fields", "RequestId"]
    faults = parse(body).find("Fields")
    assert faults is not None
    assert {one.tag for one in faults} == {"FieldError"}
    assert {one.find("Code").text for one in faults} == {"UnknownField", "InvalidValue", "RequiredField"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("application/xml", "application/xml"),
        ("APPLICATION/XML", "application/xml"),
        ("text/xml", "text/xml"),
        ("text/*", "text/xml"),
        ("application/json;q=0.5, application/xml", "application/xml"),
        ("application/xml;q=0.5, application/json", "application/json"),
        ("application/xml;q=0.5, */*;q=0.1", "application/xml"),
        ("application/xml, */*", "application/xml"),
        ("application/json, application/xml", "application/json"),
        ("text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", "application/xml"),
        ("application/xml;q=0, application/json;q=0.1", "application/json"),
        ("application/json;q=0, */*", "application/xml"),
        ("application/xml; charset=utf-8", "application/xml"),
        ("text/html", None),
        ("application/xml;q=0", None),
        ("image/*;q=x", None),
    ],
)
def test_the_media_type_with_the_highest_quality_is_chosen(accept: str, expected: str | None) -> None:
    assert renderers.negotiate(accept) == expected


def test_a_media_type_that_there_is_not_is_406(materials: Any) -> None:
    answer = materials.get(materials.at(), Accept="text/html")
    assert (answer.status_code, answer.json()["Error"]) == (406, "NotAcceptable")


@pytest.mark.parametrize("code", [*range(32), 0x7F, 0x85, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF])
def test_a_document_is_well_formed_whatever_a_text_holds(code: int) -> None:
    document = renderers.document({"externalId": f"a{chr(code)}b", "name": "x"})
    root = ET.fromstring(document)  # noqa: S314 (our own answer)
    text = root.find("externalId").text  # type: ignore[union-attr]
    legal = code in (9, 10, 13) or (code >= 32 and code not in (0xFFFE, 0xFFFF))
    assert text == (f"a{chr(code)}b" if legal else "a\ufffdb")
