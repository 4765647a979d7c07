"""Where the OpenAPI document is served, without credential (DECISIONS 8.4, 10.2)."""

import hashlib
from functools import cache

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from records.operations import conditional

Renderer = type[OpenApiYamlRenderer] | type[OpenApiJsonRenderer]


@cache
def document(renderer: Renderer) -> tuple[bytes, str]:
    """Return the document and its ETag; made once a process, since it costs most of a second."""
    made: bytes = renderer().render(SchemaGenerator().get_schema(request=None, public=True), renderer_context={})
    return made, f'"{hashlib.sha256(made).hexdigest()[:32]}"'


class _DocumentView(APIView):
    """The OpenAPI document in one format; 304 to whoever has it already."""

    permission_classes = (AllowAny,)
    renderer: Renderer

    def get(self, request: Request) -> HttpResponse:
        """Answer with the document."""
        made, tag = document(self.renderer)
        if conditional.matches(request.META.get("HTTP_IF_NONE_MATCH", ""), tag):
            response = HttpResponse(status=304)
        else:
            response = HttpResponse(made, content_type=self.renderer.media_type)
            response["Content-Disposition"] = f'inline; filename="Larder.{self.renderer.format}"'
        response["ETag"] = tag
        return response


class YamlView(_DocumentView):
    """The OpenAPI document as YAML."""

    renderer = OpenApiYamlRenderer


class JsonView(_DocumentView):
    """The OpenAPI document as JSON."""

    renderer = OpenApiJsonRenderer


class DocsView(SpectacularSwaggerSplitView):
    """The document as a page that needs nothing from outside."""

    permission_classes = (AllowAny,)
