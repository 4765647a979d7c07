"""Whether the process lives and whether it can work; needs no credential and tells nothing else (DECISIONS 8.4)."""

from collections.abc import Callable
from functools import wraps

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from records.operations.error_handlers import refuse

ALLOWED = "GET, HEAD, OPTIONS"


def _only_asked(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Let a view answer GET and HEAD; any other method but OPTIONS is the 405, never a page about a form."""

    @csrf_exempt
    @wraps(view)
    def answer(request: HttpRequest) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return view(request)
        if request.method == "OPTIONS":
            response = HttpResponse(status=204)
        else:
            response = refuse(request, 405, "MethodNotAllowed", "This path does not take this method.")
        response["Allow"] = ALLOWED
        return response

    return answer


@_only_asked
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that the process lives."""
    return JsonResponse({"status": "ok"})


@_only_asked
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer that the database is there and migrated, else 503 with Retry-After."""
    try:
        executor = MigrationExecutor(connection)
        ready = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error:
        ready = False
    if ready:
        return JsonResponse({"status": "ok"})
    return JsonResponse({"status": "unavailable"}, status=503, headers={"Retry-After": "5"})
