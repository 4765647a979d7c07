"""The OpenAPI document as a page for people, which loads nothing from other hosts (`SPECTACULAR_SETTINGS`)."""

from django.urls import path
from drf_spectacular.views import SpectacularSwaggerSplitView

urlpatterns = [path("", SpectacularSwaggerSplitView.as_view(url_name="openapi-yaml"), name="docs")]
