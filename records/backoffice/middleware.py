"""Middleware for all requests of browsers."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone


class SiteZoneMiddleware:
    """Resets the time zone of a page, so that the thread's next request starts in UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        with timezone.override(timezone.get_default_timezone()):
            return self.get_response(request)
