"""The views that serve the OpenAPI document, without credential (DECISIONS 8.4, 10.2)."""

from importlib import import_module

from django.http import HttpResponse
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from records.operations import conditional


class _DocumentView(APIView):
    """The OpenAPI document in one format; 304 if the caller has it already."""

    permission_classes = (AllowAny,)
    kind: str

    def get(self, request: Request) -> HttpResponse:
        """Answer with the document."""
        made = import_module("records.operations.openapi_document").document(self.kind)
        if conditional.is_current(request._request, made.tag):
            response = HttpResponse(status=304)
        else:
            response = HttpResponse(made.content, content_type=made.media_type)
            response["Content-Disposition"] = f'inline; filename="Larder.{self.kind}"'
        response["ETag"] = made.tag
        return response


class YamlView(_DocumentView):
    """The OpenAPI document as YAML."""

    kind = "yaml"


class JsonView(_DocumentView):
    """The OpenAPI document as JSON."""

    kind = "json"
