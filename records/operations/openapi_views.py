"""Where the OpenAPI document is served, without credential (DECISIONS 8.4)."""

from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView, SpectacularYAMLAPIView
from rest_framework.permissions import AllowAny


class YamlView(SpectacularYAMLAPIView):
    """The OpenAPI document as YAML."""

    permission_classes = (AllowAny,)


class JsonView(SpectacularJSONAPIView):
    """The OpenAPI document as JSON."""

    permission_classes = (AllowAny,)


class DocsView(SpectacularSwaggerSplitView):
    """The document as a page that needs nothing from outside."""

    permission_classes = (AllowAny,)
