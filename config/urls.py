"""Where each endpoint starts: one include per endpoint."""

from django.contrib import admin
from django.urls import path
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView, SpectacularYAMLAPIView

urlpatterns = [
    path("openapi.yaml", SpectacularYAMLAPIView.as_view(), name="openapi-yaml"),
    path("openapi.json", SpectacularJSONAPIView.as_view(), name="openapi-json"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="openapi-yaml"), name="docs"),
    path("admin/", admin.site.urls),
]
