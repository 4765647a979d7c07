"""Where a browser is led that opens the service's address alone, or a page's address without its last slash."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from records.operations.error_handlers import not_found


@require_safe
@vary_on_headers("Accept")
def start(request: HttpRequest) -> HttpResponse:
    """Lead a browser to the start page, which asks it to sign in; a program gets the 404 of every unknown path."""
    if "text/html" not in request.headers.get("Accept", ""):
        return not_found(request)
    return redirect("admin:index")


@require_safe
def with_slash(request: HttpRequest) -> HttpResponse:
    """Lead from `/admin` to `/admin/`, with the query that came along."""
    query = request.META.get("QUERY_STRING", "")
    return redirect(f"{request.path}/{f'?{query}' if query else ''}")
