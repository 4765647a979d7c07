"""Turns every error into an RFC 7644 error body: errors of this service, of the libraries and of the database."""

import json
import logging
import re
from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError
from django.http import HttpResponse
from django_scim.exceptions import SCIMException
from pydantic import ValidationError as ShapeError
from scim2_models import Error, InvalidValueException
from scim2_models import SCIMException as ProtocolError

from records.accounts import brake
from records.accounts.authority import NotAllowedError
from records.operations.errors import ApiError
from records.operations.outages import outage_of
from records.sites.writing import RecordNotFoundError
from scim.schemas import ERROR
from scim.wording import wire_name

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/scim+json"


class ScimError(SCIMException):
    """A request that is answered with an error: a status, a scimType and a sentence in plain words."""

    def __init__(self, status: int, detail: str, scim_type: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(detail, status=status, scim_type=scim_type or None)
        self.headers = headers or {}


def not_found(kind: str, key: str) -> ScimError:
    """Return the answer for a resource that does not exist, or that this token cannot see."""
    return ScimError(404, f"There is no {kind} with the id {key[:100]!r}.")


def error_response(
    status: int, detail: str, scim_type: str = "", headers: dict[str, str] | None = None
) -> HttpResponse:
    """Return the error body; `status` is a string, as RFC 7644 section 3.12 demands."""
    body = {"schemas": [ERROR], "status": str(status), "detail": detail}
    if scim_type:
        body["scimType"] = scim_type
    return HttpResponse(json.dumps(body), status=status, content_type=MEDIA_TYPE, headers=headers)


def response_for_refusal(refusal: ApiError) -> HttpResponse:
    """Return the SCIM answer for a refusal by code that all interfaces share: bodies, limits, hosts and methods."""
    scim_type = "invalidSyntax" if refusal.code == "MalformedJson" else ""
    return error_response(refusal.status, refusal.message, scim_type, refusal.headers)


def response_for(error: Exception) -> HttpResponse:
    """Return the answer for any exception of a handler; an unexpected error reveals no internal details."""
    outage = outage_of(error)
    if outage is not None:
        return error_response(503, outage.message, headers={"Retry-After": str(outage.retry_after)})
    for kinds, answer in _ANSWERS:
        if isinstance(error, kinds):
            return answer(error)
    logger.error("A provisioning request failed inside.", exc_info=error)
    return error_response(500, "The request failed inside the service.")


def _of_library(error: SCIMException) -> HttpResponse:
    return error_response(error.status, error.detail, error.scim_type or "", getattr(error, "headers", None))


def _of_model(error: Error) -> HttpResponse:
    return error_response(error.status or 400, error.detail or "The request is not valid.", error.scim_type or "")


def _of_protocol(error: ProtocolError) -> HttpResponse:
    if isinstance(error, InvalidValueException) and isinstance(error.__cause__, ShapeError):
        # A PATCH would lead to an invalid resource: report the fault itself, not the message of the library about it.
        return _of_shape(error.__cause__)
    return _of_model(error.to_error())


_OBJECT = re.compile(r"Input should be a valid dictionary or instance of [^:]*")
"""Pydantic's message for a value that is not an object; it contains the name of the model's class."""


def _of_shape(report: ShapeError) -> HttpResponse:
    """Return the answer for the first fault of a validation report, with the name of the attribute as it was sent."""
    error = Error.from_validation_errors(report)[0]
    message, colon, path = (error.detail or "").removeprefix("Value error, ").rpartition(": ")
    message = _OBJECT.sub("Input should be an object", message).replace("a valid list", "an array")
    error.detail = message + colon + re.sub("_([a-z])", lambda m: m[1].upper(), path)
    return _of_model(error)


_UNIQUE = {"unique", "unique_together", "Duplicate"}


def _of_validation(error: ValidationError) -> HttpResponse:
    """Return the answer for the first fault that an action found, with the attribute that it concerns."""
    faults: list[tuple[str, Any]] = []
    if hasattr(error, "error_dict"):
        faults = [(name, fault) for name, attribute_faults in error.error_dict.items() for fault in attribute_faults]
    else:
        faults = [("", fault) for fault in error.error_list]
    name, fault = faults[0]
    text = " ".join(fault.messages)
    detail = f"{wire_name(name)}: {text}" if name and name != "__all__" else text
    if any(fault.code in _UNIQUE for _, fault in faults):
        return error_response(409, detail, "uniqueness")
    if all(fault.code == "InvalidTransition" for _, fault in faults):
        return error_response(409, detail)
    return error_response(400, detail, "invalidValue")


def _of_brake(error: brake.MassRemovalError) -> HttpResponse:
    """Return the answer to a mass removal. The directory is stopped here because the request itself was rolled back."""
    brake.close(error.directory_id)
    return error_response(403, error.reason)


_ANSWERS: tuple[tuple[Any, Callable[[Any], HttpResponse]], ...] = (
    (SCIMException, _of_library),
    (ProtocolError, _of_protocol),
    (ShapeError, _of_shape),
    # These come before ValidationError, because both are subclasses of it.
    (brake.MassRemovalError, _of_brake),
    (NotAllowedError, lambda error: error_response(403, error.reason)),
    (ValidationError, _of_validation),
    (ApiError, response_for_refusal),
    (RecordNotFoundError, lambda error: error_response(404, "There is no such resource.")),
    (
        IntegrityError,
        lambda error: error_response(409, "A value that must be unique is in use already.", "uniqueness"),
    ),
    (DataError, lambda error: error_response(400, "A value does not fit its attribute.", "invalidValue")),
)
"""The answer for each kind of exception; the first kind that matches is used."""
