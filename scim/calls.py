"""What every call of both mounts has in common: the caller, limits, dry runs, the answer in SCIM, and the log."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

import orjson
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django_scim import views as stock

from records.accounts.opening import AccessProof
from records.history.models import Change
from records.history.retrying import lost_deadlock, retry_transaction, waited_too_long
from records.history.trail import is_rehearsal, rehearsing
from records.operations import limits
from records.operations.credentials import keep_private
from records.operations.own_headers import put
from scim import log
from scim.callers import Caller, caller_of, remembered_caller_of
from scim.errors import MEDIA_TYPE, ScimError, error_response, response_for
from scim.inner import Inner, inner_of
from scim.models import ProvisioningCall
from scim.mounts import Mount
from scim.patches import clean_schemas, note_ignored
from scim.projection import undeclared_names
from scim.representations import Representation
from scim.requests import (
    LARGEST_BODY,
    SHOWN_NAMES,
    Query,
    query_of_request,
    read_body,
    unread_names,
)
from scim.schemas import POLICY
from scim.wording import id_in

METHODS = ("get", "post", "put", "patch", "delete", "head", "options")
READING = frozenset({"GET", "HEAD", "OPTIONS"})
PATIENCE = 50
"""How many milliseconds a dry run waits for a lock.

It keeps the locks of all its writes until its end, in the order of its operations, so that it and another writer could
wait for each other. It gives up at once and begins again; PostgreSQL ends one of the two only after a second.
"""


class ProvisioningRequest(HttpRequest):
    """A request with its caller."""

    caller: Caller
    hashed_password: str | None
    """The hash of the password that the request sets, once it is made."""


class ProvisioningView(stock.SCIMView):
    """The common behaviour of every endpoint: identify and count the caller, answer in SCIM, and log the call."""

    mount: Mount = "scim"
    kinds: tuple[str, ...] = ()
    """The resource types that the endpoint answers."""
    caller: Caller | None = None
    body: object = None
    changes: Iterable[Change] = ()
    entries: Sequence[ProvisioningCall] = ()
    """The log entries of the inner calls that this call made."""
    only_reads: ClassVar[bool] = False
    """Whether a POST only reads, so that a read-only token may send it."""
    checks_later: ClassVar[bool] = False
    """Whether a write does nothing before its own statements have checked that a remembered caller is still valid."""
    proof: AccessProof | None = None
    """That check, until it is made."""
    allowance: Mapping[str, str] = MappingProxyType({})

    @csrf_exempt
    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Answer the request."""
        start = time.perf_counter()
        inner = inner_of(request)
        response = self._answer_with_retries(request, inner, *args, **kwargs)
        put(response, self.allowance, unless_set=True)
        keep_private(response, "Authorization", "Accept")
        writes = self._writes(request)
        rolled_back = self.caller is not None and self.caller.dry_run and writes
        if writes and not rolled_back:
            key = id_in(response.get("Location") or kwargs.get("uuid") or "").lower()
            request.larder_record = key or None  # type: ignore[attr-defined]
        entry = log.entry(
            request,
            response,
            caller=self.caller,
            body=self.body,
            changes=self.changes if response.status_code < 400 else (),
            duration_ms=round((time.perf_counter() - start) * 1000),
            rolled_back=rolled_back,
        )
        if inner is None or inner.entries is None:
            log.keep([*([entry] if entry else []), *self.entries])
        elif entry is not None:
            inner.entries.append(entry)
        return response

    def _answer_with_retries(
        self, request: HttpRequest, inner: Inner | None, *args: object, **kwargs: object
    ) -> HttpResponse:
        """Answer; a request begins again if it lost a deadlock, and a dry run if it had to wait: nothing is stored.

        An inner call of a dry run leaves that to the outer call, whose transaction it is.
        """
        try:
            return retry_transaction(
                lambda: self._identify_and_answer(request, inner, *args, **kwargs),
                lambda error: self._lost_locks(error) and not is_rehearsal(),
            )
        except Exception as error:
            if self._lost_locks(error) and is_rehearsal():
                raise
            return response_for(error)

    def _identify_and_answer(
        self, request: HttpRequest, inner: Inner | None, *args: object, **kwargs: object
    ) -> HttpResponse:
        """Answer for a remembered caller if the write itself has checked that the token still says the same.

        Otherwise look the token up. Until the check, a remembered caller learns only that the database failed.
        """
        if inner is not None:
            # Bulk requests and the connection test make calls within this process for a caller who is already
            # identified.
            return self._answer_to(replace(inner.caller, notes=[]), request, *args, **kwargs)
        caller = remembered_caller_of(request, self.mount) if self.checks_later and self._writes(request) else None
        if caller is not None and not caller.dry_run:
            self.proof = caller.proof
            try:
                response = self._answer_to(caller, request, *args, **kwargs)
                if self.proof is None:
                    return response
            except Exception as error:
                if self.proof is None or isinstance(error, DatabaseError):
                    raise
            self.proof = self.caller = None
        return self._answer_to(caller_of(request, self.mount), request, *args, **kwargs)

    def _answer_to(self, caller: Caller, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Count the request for the caller's token, once, and answer it."""
        self.caller = caller
        request.caller = caller  # type: ignore[attr-defined]
        request.larder_caller = f"directory {caller.directory.pk}"  # type: ignore[attr-defined]
        inner = inner_of(request)
        if not self.allowance and (inner is None or inner.is_counted):
            limit: int = settings.SCIM_RATE_LIMIT
            self.allowance = limits.spend("provisioning", str(caller.token_id), limit).headers()
        if caller.read_only and self._writes(request):
            raise ScimError(403, "This token is read-only: it changes nothing.")
        return self._answer(request, *args, **kwargs)

    def _writes(self, request: HttpRequest) -> bool:
        return request.method not in READING and not self.only_reads

    def _answer(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Call the method; with a dry-run token, everything that a write does is rolled back after it is answered.

        This includes what a refusal writes, such as the stop of the brake. The operations of a bulk request see the
        effects of earlier ones, because the request is rolled back as a whole at its end.
        """
        with POLICY:
            if self.caller is None or not self.caller.dry_run or inner_of(request) or not self._writes(request):
                return self._handler(request)(request, *args, **kwargs)
            with rehearsing(), connection.briefly(PATIENCE):  # type: ignore[attr-defined]
                try:
                    response = self._handler(request)(request, *args, **kwargs)
                except Exception as error:
                    if self._lost_locks(error):
                        raise
                    response = response_for(error)
            return response

    def _lost_locks(self, error: Exception) -> bool:
        is_dry_run = self.caller is not None and self.caller.dry_run
        return lost_deadlock(error) or (is_dry_run and waited_too_long(error))

    def _handler(self, request: HttpRequest) -> Callable[..., HttpResponse]:
        method = (request.method or "").lower()
        handler = getattr(self, method, None) if method in self.http_method_names else None
        if method == "head" and handler is None:
            handler = getattr(self, "get", None)
        return handler or self.http_method_not_allowed

    def options(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Answer 204 with the allowed methods."""
        return empty_response(Allow=", ".join(self._allowed_methods()))

    def http_method_not_allowed(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Answer 405 with the allowed methods."""
        methods = ", ".join(self._allowed_methods())
        return error_response(405, f"{request.method} is not allowed here.", headers={"Allow": methods})

    def read(self, request: HttpRequest, largest: int = LARGEST_BODY) -> dict[str, Any]:
        """Read the body, and keep it for the log."""
        self.body = read_body(request, largest)
        return dict(self.body)

    def read_query(self, request: HttpRequest, known_names: Sequence[str] = SHOWN_NAMES) -> Query:
        """Return the query in the request's address, of which the endpoint reads the `known_names`."""
        if not request.META.get("QUERY_STRING"):
            return Query()
        return self.note_unread(query_of_request(request), unread_names(request.GET, known_names))

    def note_unread(self, query: Query, unread: Iterable[str]) -> Query:
        """Return the query, and note for the log the names that nothing reads and the attributes that do not exist."""
        if self.caller:
            note_ignored([*unread, *undeclared_names(self.kinds, query)], self.caller.notes)
        return query


def refuse_other_schemas(body: dict[str, Any], urn: str) -> None:
    """Raise ScimError (400) for a message whose schemas name another kind; schemas may be absent."""
    schemas = body.get("schemas")
    if schemas is not None and clean_schemas(schemas, urn) != [urn]:
        raise ScimError(400, f"schemas must hold {urn} alone.", "invalidSyntax")


def scim_response(document: Representation, status: int = 200, **headers: str) -> HttpResponse:
    """Return a response with the document."""
    content: str | bytes
    try:
        content = orjson.dumps(document)
    except TypeError:  # a directory may have sent a whole number of more than 64 bits
        content = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    response = HttpResponse(content, status=status, content_type=MEDIA_TYPE)
    put(response, headers)
    return response


def empty_response(**headers: str) -> HttpResponse:
    """Return a response without a body, and therefore without a media type."""
    response = HttpResponse(status=204, headers=headers)
    del response["Content-Type"]
    return response
