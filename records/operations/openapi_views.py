"""The view that serves the OpenAPI document, without credential (DECISIONS 8.4, 10.2)."""

from importlib import import_module

from django.http import HttpResponse
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from records.operations import conditional


class DocumentView(APIView):
    """The OpenAPI document as YAML or JSON; 304 if the caller has it already."""

    permission_classes = (AllowAny,)

    def get(self, request: Request, kind: str) -> HttpResponse:
        """Answer with the document in the format `kind`."""
        document = import_module("records.operations.openapi_document").document(kind)
        if conditional.is_current(request._request, document.tag):
            response = HttpResponse(status=304)
        else:
            response = HttpResponse(document.content, content_type=document.media_type)
            response["Content-Disposition"] = f'inline; filename="Larder.{kind}"'
        response["ETag"] = document.tag
        return response


view = DocumentView.as_view()
