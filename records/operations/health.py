"""Whether the process lives and whether it can work; needs no credential and tells nothing else (DECISIONS 8.4)."""

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse


def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that the process lives."""
    return JsonResponse({"status": "ok"})


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
