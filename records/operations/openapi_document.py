"""The OpenAPI document in each format. It is loaded when it is first needed, since its library is large."""

import hashlib
import threading
from functools import cache
from typing import NamedTuple

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer

RENDERERS = {"yaml": OpenApiYamlRenderer, "json": OpenApiJsonRenderer}
_making = threading.Lock()


class Document(NamedTuple):
    """The document in one format, with its ETag and its media type."""

    content: bytes
    tag: str
    media_type: str


def document(kind: str) -> Document:
    """Return the document in a format, `yaml` or `json` (DECISIONS 10.2)."""
    with _making:
        return _documents()[kind]


@cache
def _documents() -> dict[str, Document]:
    """Return the document in each format; built once per process, since it takes most of a second."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    documents = {}
    for kind, renderer in RENDERERS.items():
        rendered = renderer().render(schema, renderer_context={})
        content = rendered.encode() if isinstance(rendered, str) else rendered
        documents[kind] = Document(content, f'"{hashlib.sha256(content).hexdigest()[:32]}"', renderer.media_type)
    return documents
