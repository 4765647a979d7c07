"""The views that serve the OpenAPI document, without credential (DECISIONS 8.4, 10.2)."""

import hashlib
import threading
from functools import cache

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from records.operations import conditional

RENDERERS = {"yaml": OpenApiYamlRenderer, "json": OpenApiJsonRenderer}
_making = threading.Lock()


def document(kind: str) -> tuple[bytes, str]:
    """Return the document in a format, `yaml` or `json`, and its ETag (DECISIONS 10.2)."""
    with _making:
        return _documents()[kind]


@cache
def _documents() -> dict[str, tuple[bytes, str]]:
    """Return the document in each format with its ETag; built once per process, since it takes most of a second."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    found = {}
    for kind, renderer in RENDERERS.items():
        rendered = renderer().render(schema, renderer_context={})
        made = rendered.encode() if isinstance(rendered, str) else rendered
        found[kind] = made, f'"{hashlib.sha256(made).hexdigest()[:32]}"'
    return found


class _DocumentView(APIView):
    """The OpenAPI document in one format; 304 if the caller has it already."""

    permission_classes = (AllowAny,)
    kind: str

    def get(self, request: Request) -> HttpResponse:
        """Answer with the document."""
        made, tag = document(self.kind)
        if conditional.is_current(request._request, tag):
            response = HttpResponse(status=304)
        else:
            response = HttpResponse(made, content_type=RENDERERS[self.kind].media_type)
            response["Content-Disposition"] = f'inline; filename="Larder.{self.kind}"'
        response["ETag"] = tag
        return response


class YamlView(_DocumentView):
    """The OpenAPI document as YAML."""

    kind = "yaml"


class JsonView(_DocumentView):
    """The OpenAPI document as JSON."""

    kind = "json"


class DocsView(SpectacularSwaggerSplitView):
    """The document as a page that loads nothing from other hosts."""

    permission_classes = (AllowAny,)
