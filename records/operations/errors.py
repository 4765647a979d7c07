"""Error responses of the JSON interface, and how every exception becomes one (DECISIONS 6)."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import DatabaseError, InterfaceError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions

from records.operations import outages
from records.sites.writing import RecordNotFoundError

logger = logging.getLogger("larder.errors")


@dataclass(slots=True)
class FieldError:
    """One fault of a body: where it is (in wire names), its code, and a message."""

    field: str
    code: str
    message: str

    def shape(self) -> dict[str, str]:
        """Return the fault in the format of the error body."""
        return {"Field": self.field, "Code": self.code, "Message": self.message}


@dataclass
class ApiError(Exception):
    """An error response: status, code and message, with the faults of the body and headers if there are any."""

    status: int
    code: str
    message: str
    fields: list[FieldError] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.message}"


MOST_FAULTS = 1_000
"""The maximum number of faults in one response."""


def invalid(faults: Iterable[FieldError]) -> ApiError:
    """Return the 400 that lists all faults of a body at once, or the first thousand."""
    fault_list = list(faults)
    if len(fault_list) == 1:
        prefix = f"{fault_list[0].field}: " if fault_list[0].field else ""
        return ApiError(400, "ValidationFailed", prefix + fault_list[0].message, fault_list)
    return ApiError(400, "ValidationFailed", f"{len(fault_list)} fields are not valid.", fault_list[:MOST_FAULTS])


CONFLICTS = frozenset({"InvalidTransition", "Duplicate", "InUse"})
"""Codes of faults that are not in the body but in the record's state or in another record (DECISIONS 6)."""


def validation_refusal(error: ValidationError, wire: Callable[[str], str]) -> ApiError:
    """Return the API error for a ValidationError: a 409 if each of its faults is in CONFLICTS, otherwise a 400."""
    faults = faults_of(error, wire)
    if not faults or any(fault.code not in CONFLICTS for fault in faults):
        return invalid(faults)
    return ApiError(409, faults[0].code, faults[0].message, [fault for fault in faults if fault.field])


def not_found() -> ApiError:
    """Return the 404 for a record that does not exist or that belongs to another site."""
    return ApiError(404, "NotFound", "There is no such record.")


def unauthorized(message: str = "A valid Ocp-Apim-Subscription-Key header is required.") -> ApiError:
    """Return the 401 with the challenge for a subscription key."""
    challenge = 'SubscriptionKey realm="Larder", header="Ocp-Apim-Subscription-Key"'
    return ApiError(401, "Unauthorized", message, headers={"WWW-Authenticate": challenge})


def unavailable(outage: outages.Outage = outages.AWAY) -> ApiError:
    """Return the 503 that says why the database does not serve the request."""
    return ApiError(503, "Unavailable", outage.message, headers={"Retry-After": str(outage.retry_after)})


REFUSALS = (ApiError, RecordNotFoundError, Http404, ValidationError, PermissionDenied, exceptions.APIException)
"""The exceptions that refuse a caller's request, in contrast to errors of the product or the database."""


def refusal_of(error: BaseException) -> ApiError:
    """Return the error for an exception; an unexpected one becomes a 500 that reveals no internals."""
    match error:
        case ApiError():
            return error
        case RecordNotFoundError() | Http404():
            return not_found()
        case ValidationError():
            return validation_refusal(error, str)
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return unauthorized()
        case exceptions.PermissionDenied() | PermissionDenied():
            return ApiError(403, "Forbidden", "Your roles do not allow this at this site.")
        case exceptions.MethodNotAllowed():
            return ApiError(405, "MethodNotAllowed", "This path does not support this method.")
        case exceptions.NotAcceptable():
            return ApiError(406, "NotAcceptable", "The answer is not available in that media type.")
        case exceptions.UnsupportedMediaType():
            return ApiError(415, "UnsupportedMediaType", "Send the body as application/json.")
        case DatabaseError() | InterfaceError() | OSError() if outage := outages.outage_of(error):
            return unavailable(outage)
        case _:
            return ApiError(500, "InternalError", "Something went wrong on our side. Quote the request id.")


def faults_of(error: ValidationError, wire: Callable[[str], str]) -> list[FieldError]:
    """Return the faults that model checks and actions raised, in wire names.

    A fault inside a child array has `relation`, `idx` and `name` in its params (records.sites.writing).
    """
    field_errors: list[FieldError] = []
    faults_by_name = error.error_dict if hasattr(error, "error_dict") else {"": error.error_list}
    for name, faults in faults_by_name.items():
        for fault in faults:
            params: dict[str, Any] = fault.params if isinstance(fault.params, dict) else {}
            if "relation" in params:
                path = f"{wire(params['relation'])}[{params['idx']}]"
                path += f".{wire(params['relation'] + '.' + params['name'])}" if params.get("name") else ""
            else:
                path = wire(name) if name and name != "__all__" else ""
            field_errors.append(FieldError(path, _code(fault), str(fault.messages[0])))
    return field_errors


_DJANGO_CODES = {
    "required": "RequiredField",
    "blank": "RequiredField",
    "null": "RequiredField",
    "max_length": "ValueTooLong",
    "unique": "Duplicate",
}


def _code(fault: ValidationError) -> str:
    code = fault.code or "InvalidValue"
    return _DJANGO_CODES.get(code, code if code[:1].isupper() else "InvalidValue")


def body_of(refusal: ApiError, request_id: str) -> dict[str, object]:
    """Return the error body with all of its five fields."""
    return {
        "Error": refusal.code,
        "Message": refusal.message,
        "Id": "",
        "Fields": [fault.shape() for fault in refusal.fields],
        "RequestId": request_id,
    }


def answer(request: HttpRequest, refusal: ApiError) -> HttpResponse:
    """Return the error as a JSON response."""
    body = orjson.dumps(body_of(refusal, getattr(request, "request_id", "")))
    return HttpResponse(body, content_type="application/json", status=refusal.status, headers=refusal.headers)


def handle_exception(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """Turn any exception of a view into an error response (called by the framework); logs a 500 with its traceback."""
    request: HttpRequest = context["request"]._request
    view = context.get("view")
    refusal = refusal_of(error)
    if refusal.status == 500:
        logger.error("Unhandled %s", type(error).__name__, exc_info=error)
    if isinstance(error, exceptions.MethodNotAllowed) and view is not None:
        refusal.headers["Allow"] = ", ".join(view.allowed_methods)
    render = getattr(view, "render_refusal", None)
    response: HttpResponse = render(refusal) if render else answer(request, refusal)
    return response
