"""The final changes to the OpenAPI document: what readers and validators of such documents expect in it."""

import re
from collections.abc import Iterator
from typing import Any

SPECIAL_LINKS = {
    "AddComplaintDetail": ("GetComplaint", "UpdateComplaintDetail"),
    "GetComplaint": ("UpdateComplaintDetail",),
    "GetListOfMaterial": ("GetMaterialById",),
    "GetMaterialById": ("DeleteMaterial",),
    "PostMaterial": ("GetMaterialById", "DeleteMaterial"),
}
"""The links of operations whose name does not tell them."""
_POINT = re.compile(r"\s*\((?:DECISIONS|RFC) [^)]*\)")


def publish(result: dict[str, Any], **kwargs: object) -> dict[str, object]:
    """Finish the document: tags, one server, links, XML roots, and no references to internal decisions (a hook)."""
    result["servers"] = [{"url": "/", "description": "The installation that serves this document."}]
    result["tags"] = [{"name": name, "description": f"Operations below `/{name}`."} for name in _tags(result)]
    for path, operations in result["paths"].items():
        if path.startswith("/materials"):
            _describe_xml(operations)
        for operation in operations.values():
            _link(operation, result["paths"])
    for part in _objects(result):
        _tidy(part)
    _drop_unused(result)
    return result


def _tags(result: dict[str, Any]) -> list[str]:
    """Return every tag that an operation has, in order."""
    return sorted(
        {tag for path in result["paths"].values() for operation in path.values() for tag in operation["tags"]}
    )


def _objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield every object of the document, outer ones first; examples are data and left unchanged."""
    if isinstance(value, dict):
        yield value
        for name, part in value.items():
            if name not in ("example", "examples", "default", "enum"):
                yield from _objects(part)
    elif isinstance(value, list):
        for part in value:
            yield from _objects(part)


def _tidy(part: dict[str, Any]) -> None:
    """Remove from one object what other languages cannot read, and the references to our own decisions."""
    if "(?" in str(part.get("pattern", "")):
        # ECMA's regular expressions have no inline flags; such a pattern only says that the text must not be empty.
        part.pop("pattern")
        part["minLength"] = 1
    if isinstance(part.get("description"), str):
        part["description"] = _POINT.sub("", part["description"])
    number = part.get("properties", {}).get("siteSequenceId") if isinstance(part.get("properties"), dict) else None
    if number is not None:
        number["format"] = "int64"


def _describe_xml(operations: dict[str, Any]) -> None:
    """Name the root elements of the XML answers below /materials."""
    for operation in operations.values():
        for response in operation["responses"].values():
            for media_type, content in response.get("content", {}).items():
                if "xml" in media_type and "$ref" in content["schema"]:
                    name = content["schema"]["$ref"].rpartition("/")[2]
                    content["schema"] = {"allOf": [content["schema"]], "xml": {"name": ROOTS.get(name, name)}}
                elif "xml" in media_type and content["schema"].get("type") == "array":
                    content["schema"]["xml"] = {"name": "ExternalIdMaterialDtoArray", "wrapped": True}


ROOTS = {"Material": "ExternalIdMaterialDto"}


def _link(operation: dict[str, Any], paths: dict[str, Any]) -> None:
    """Add links from the Id in an answer to the operations that read and change the record.

    An add links to the record that it added, a list to its first row, and a record to its change with its ETag.
    """
    name = operation["operationId"]
    operation_ids = {operation["operationId"] for path in paths.values() for operation in path.values()}
    targets = [target for target in _targets(name) if target in operation_ids]
    if targets:
        is_list = operation["responses"]["200"]["content"]["application/json"]["schema"].get("type") == "array"
        parameters = {"id": "$response.body#/0/Id" if is_list else "$response.body#/Id"}
        if "Material" in name:
            parameters["siteId"] = "$request.query.siteId"
        if name.startswith("Get") and not is_list:
            parameters["header.If-Match"] = "$response.header.ETag"
        operation["responses"]["200"]["links"] = {
            target: {"operationId": target, "parameters": parameters} for target in targets
        }


def _targets(name: str) -> tuple[str, ...]:
    """Return the operations that may take the Id in the answer."""
    if name in SPECIAL_LINKS:
        return SPECIAL_LINKS[name]
    if name.startswith("Add"):
        record = name.removeprefix("Add")
        return f"Get{record}", f"Update{record}"
    if name.startswith("Get") and name.endswith("List"):
        record = name.removeprefix("Get").removesuffix("List")
        return f"Get{record}", f"Get{record}RecordList"
    return (f"Update{name.removeprefix('Get')}",) if name.startswith("Get") else ()


def _drop_unused(result: dict[str, Any]) -> None:
    """Remove the components that nothing refers to, until none is left."""
    shapes = result["components"]["schemas"]
    while True:
        used_names = {str(part["$ref"]).rpartition("/")[2] for part in _objects(result) if "$ref" in part}
        unused_names = shapes.keys() - used_names
        if not unused_names:
            return
        for name in unused_names:
            del shapes[name]
