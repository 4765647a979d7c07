"""Redirects a browser that opens only the service's address, or the address of a page without its last slash."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from records.operations.error_handlers import not_found


@require_safe
@vary_on_headers("Accept")
def start(request: HttpRequest) -> HttpResponse:
    """Redirect a browser to the start page, which asks for a sign-in; a program gets a 404 as for unknown paths."""
    if "text/html" not in request.headers.get("Accept", ""):
        return not_found(request)
    return redirect("admin:index")


@require_safe
def with_slash(request: HttpRequest) -> HttpResponse:
    """Redirect from `/admin` to `/admin/` with the same query."""
    query = request.META.get("QUERY_STRING", "")
    return redirect(f"{request.path}/{f'?{query}' if query else ''}")
