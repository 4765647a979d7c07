"""Middleware for all requests of browsers."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers

from records.accounts.languages import chosen_language


class SiteZoneMiddleware:
    """Resets the time zone of a page, so that the thread's next request starts in UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        with timezone.override(timezone.get_default_timezone()):
            return self.get_response(request)


class LanguageMiddleware:
    """Answers in the language that the person chose; before that, in the first one that the browser asks for.

    The language ends with the request, so that nothing else that the thread does is in it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        language = chosen_language(request.user) or translation.get_language_from_request(request)
        with translation.override(language):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language",))
        return response
