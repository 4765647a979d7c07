"""Calls to the SCIM endpoints within this process, made by /Bulk and by the connection test."""

import json
from dataclasses import dataclass
from io import BytesIO

from django.core.handlers.wsgi import WSGIRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import resolve

from scim.callers import Caller
from scim.models import ProvisioningCall


@dataclass(slots=True)
class Inner:
    """What an inner call inherits from the outer request: the caller, whether it is counted, and where it is logged."""

    caller: Caller
    is_counted: bool = True
    entries: list[ProvisioningCall] | None = None
    """The log lines, which the outer call writes. If None, each inner call writes its own line."""


def inner_of(request: HttpRequest) -> Inner | None:
    """Return what a request inherits from an outer one, or None for a request from outside."""
    return getattr(request, "provisioning_inner", None)


def send(inner: Inner, method: str, path: str, body: object = None, version: str = "") -> HttpResponse:
    """Make a call below the caller's mount and return the response."""
    address, _, query = path.partition("?")
    content = b"" if body is None else json.dumps(body).encode()
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": f"/{inner.caller.mount}{address}".encode().decode("latin-1"),  # as every WSGI server does
        "QUERY_STRING": query,
        "CONTENT_TYPE": "application/scim+json" if content else "",
        "CONTENT_LENGTH": str(len(content)),
        "wsgi.input": BytesIO(content),
    }
    if version:
        environ["HTTP_IF_MATCH"] = version
    request = WSGIRequest(environ)
    request.provisioning_inner = inner  # type: ignore[attr-defined]
    request.request_id = inner.caller.author.request_id  # type: ignore[attr-defined]
    try:
        match = resolve(request.path_info)
    except Http404:
        return HttpResponse(status=404)
    response: HttpResponse = match.func(request, *match.args, **match.kwargs)
    return response
