"""The OpenAPI document as a page for people, which loads nothing from other hosts."""

from django.urls import path
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny


class DocsView(SpectacularSwaggerSplitView):
    """The page."""

    permission_classes = (AllowAny,)


urlpatterns = [path("", DocsView.as_view(url_name="openapi-yaml"), name="docs")]
