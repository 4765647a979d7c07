"""How a request reaches its operation, which decides about key, permission, query and body."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import cached_property
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.viewsets import ViewSet

from records.accounts.keys import Caller
from records.accounts.opening import AccessProof, StaleAccessError, prove
from records.history.retrying import retry_transaction
from records.history.trail import Author, rehearsing
from records.operations import bodies, conditional, errors, idempotency, limits, lists, queries, values
from records.operations.credentials import KEY_HEADER, SubscriptionKeyAuthentication, keep_private
from records.operations.media_types import accepts
from records.operations.names import unknown
from records.operations.operation import Operation
from records.operations.own_headers import put
from records.sites.text import read_uuid
from records.sites.writing import Precondition

_NEGOTIATOR = DefaultContentNegotiation()
VALIDATE_ONLY = "validateOnly"
"""The query parameter that requests a check of a write without storing it."""


@cache
def _known_parameters(operation: Operation | None) -> Mapping[str, str]:
    """Return the names of the query parameters that the operation supports, by the name in one case."""
    if operation is None:
        return {}
    names = [parameter.name for parameter in operation.parameters]
    names += lists.PARAMETERS if operation.many else ()
    names += [lists.IN_FOLDERS] if operation.lists_folders else ()
    names += [VALIDATE_ONLY] if operation.writes else ()
    return {name.casefold(): name for name in names}


def _takes_one_value(operation: Operation | None, name: str) -> bool:
    """Return whether a query parameter takes only one value; a list's filters take several."""
    own_parameters = () if operation is None else operation.parameters
    return name in (*lists.SINGLE_VALUED, VALIDATE_ONLY) or any(
        parameter.name == name and (parameter.kind in ("boolean", "integer", "position") or not parameter.filters)
        for parameter in own_parameters
    )


class OperationPermission(BasePermission):
    """Checks whether the caller's roles hold the permission of the operation."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return whether the caller may call it; a method without an operation passes, to get its 405 later."""
        operation: Operation | None = view.operation
        return operation is None or view.permits(operation)


class CalledViewSet(ViewSet):
    """Turns requests into calls of its methods, one per operation, and exceptions into error responses.

    A method takes the request (and the id of the path as UUID) and returns an HttpResponse: `self.record(…)`,
    `self.listing(…)`, `self.add_record(…)`, `self.update_record(…)` or `self.write_response(…)`.
    """

    authentication_classes = (SubscriptionKeyAuthentication,)
    permission_classes = (OperationPermission,)
    http_method_names = ["get", "post", "put", "patch", "delete", "head", "options"]
    operations: ClassVar[Mapping[str, Operation]] = {}
    """The operations of the path, by the HTTP method."""
    body_limit: ClassVar[int] = bodies.BODY_LIMIT
    media_types: ClassVar[tuple[str, ...]] = ("application/json",)
    credential_headers: ClassVar[tuple[str, ...]] = (KEY_HEADER,)
    """The request headers that carry the caller's credentials."""
    reads_ids: ClassVar[bool] = True
    """Whether a write begins by looking up the records that its body refers to, which can include the proof."""
    variant: str = ""
    """What distinguishes the ETags of another media type from those of JSON."""

    operation: Operation | None = None
    caller: Caller
    """The caller, who uses the request's key."""
    proven: bool = False
    """Whether the database has confirmed, during this request, what the caller may do."""
    answer_headers: Mapping[str, str]
    body_values: dict[str, Any] | None = None
    """The values of the body, under model names."""
    _body: bytes | bytearray | None = None

    # --- Before the method ------------------------------------------------------------------------------------------

    def permits(self, operation: Operation) -> bool:
        """Return whether the caller's roles hold the permission of the operation."""
        return self.caller.may(operation.permission)

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Find the operation."""
        method = request.method or ""
        self.operation = self.operations.get("GET" if method == "HEAD" else method)
        self.http_request.larder_operation = self.operation.name if self.operation else ""  # type: ignore[attr-defined]

    def answer_request(self) -> HttpResponse:
        """Answer for the remembered caller if the database proves that the access is unchanged; otherwise look it up.

        A remembered caller is not refused anything before the proof, because the access may have grown meanwhile.
        """
        authenticator: Any = self.get_authenticators()[0]
        remembered_caller: Caller | None = authenticator.remembered_caller(self.request)
        spent = False
        if remembered_caller is not None:
            try:
                self.answer_headers = self.spend(remembered_caller).headers()
                spent = True
                return self.answer_as(remembered_caller, proven=False)
            except (StaleAccessError, *errors.REFUSALS):
                if self.proven:
                    raise
        caller: Caller = authenticator.authenticate(self.request)[0]
        self.http_request.larder_caller = caller  # type: ignore[attr-defined]
        if not spent:
            self.answer_headers = self.spend(caller).headers()
        return self.answer_as(caller, proven=True)

    def spend(self, caller: Caller) -> limits.Allowance:
        """Count the request for the caller's key; raises the 429."""
        return limits.spend("rate", str(caller.key_id), settings.RATE_LIMIT)

    def answer_as(self, caller: Caller, *, proven: bool) -> HttpResponse:
        """Check permission, media type, query parameters and path id, and run the operation for the caller.

        A read proves the caller with its own statement or, if that does not include the proof, at its end. A write
        proves the caller before it starts: together with the look-up of the records that its body refers to, or by a
        statement of its own if it does not begin with that. Raises StaleAccessError if the caller's access has changed.
        """
        self.caller = self.http_request.larder_caller = caller  # type: ignore[attr-defined]
        self.kwargs = dict(self.path_kwargs)
        self.proven = proven
        if not self.proves_later:
            self.prove()
        self.check_permissions(self.request)
        self.negotiate()
        if self.operation is not None:
            self.check_parameters()
            if self.operation.request is not None:
                bodies.check_media_type(self.http_request)
            else:
                self.refuse_fields(self.operation)
            if self.operation.takes_id:
                self.check_path_id()
        response = self.run(self.handler_for(self.request.method or ""))
        self.prove()
        return response

    @property
    def proves_later(self) -> bool:
        """Return whether the operation includes the proof in a statement of its own, before anything is written."""
        operation = self.operation
        return operation is not None and (not operation.writes or (operation.request is not None and self.reads_ids))

    @property
    def proof(self) -> AccessProof | None:
        """Return the proof that the operation's statement has to include, or None if the caller is already proven."""
        return None if self.proven else self.caller.proof

    def prove(self) -> None:
        """Check that the caller's access is unchanged, unless that is proven already; raises StaleAccessError."""
        if not self.proven:
            prove(self.caller.proof)
            self.proven = True

    def refuse_fields(self, operation: Operation) -> None:
        """Raise the 400 if a request that takes no body has one with fields, which would otherwise be ignored."""
        if self.raw_body() and (names := bodies.decode_object(self.raw_body())):
            text = f"{operation.name} takes no fields in a body; send parameters in the query."
            raise errors.invalid(errors.FieldError(name[:100], "UnknownField", text) for name in names)

    def check_path_id(self) -> None:
        """Turn the path's id into a UUID; raises the 400 InvalidId."""
        key = read_uuid(self.kwargs["id"])
        if key is None:
            raise errors.ApiError(400, "InvalidId", "The Id in the path is not a UUID of 36 characters.")
        self.kwargs["id"] = key

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Run the operation, and turn every exception into an answer."""
        self.args, self.kwargs = args, kwargs
        self.path_kwargs = kwargs
        self.answer_headers = {}
        # The framework's parsers, authenticators and negotiation have no part in an operation.
        rest_request = self.request = Request(request, negotiator=_NEGOTIATOR)
        response: HttpResponseBase
        try:
            self.initial(rest_request, *args, **kwargs)
            response = retry_transaction(self.answer_request)
        except Exception as error:
            response = errors.handle_exception(error, {"request": rest_request, "view": self})
        put(response, self.answer_headers, unless_set=True)
        keep_private(response, *self.credential_headers)
        return response

    def handler_for(self, method: str) -> Callable[..., HttpResponse]:
        """Return the method that answers; raises the 405 if the path has no operation for it."""
        if method == "OPTIONS":
            return self.options_answer
        if self.operation is None:
            self.http_method_not_allowed(self.request)
        return getattr(self, self.operation.action)  # type: ignore[union-attr]

    def run(self, handler: Callable[..., HttpResponse]) -> HttpResponse:
        """Call the method; a write with an Idempotency-Key runs once, and one with `validateOnly` stores nothing.

        Such a check neither reads nor stores the answer of an Idempotency-Key (DECISIONS 13.2). An add cannot have
        If-Match, because there is no record yet that it could name.
        """
        operation = self.operation
        if operation is not None and operation.adds and self.http_request.META.get("HTTP_IF_MATCH") is not None:
            raise errors.ApiError(412, "PreconditionFailed", "Send an add without If-Match: there is no record yet.")
        if operation is not None and self.validates_only:
            with rehearsing():
                return handler(self.request, **self.kwargs)
        key = idempotency.key_of(self.http_request) if operation is not None and operation.writes else None
        if key is None or operation is None:
            return handler(self.request, **self.kwargs)
        self.prove()
        return idempotency.once(
            key,
            user_id=self.caller.user_id,
            site_id=self.caller.site_id,
            operation=operation.name,
            body=self.idempotent_body(),
            act=lambda: handler(self.request, **self.kwargs),
        )

    def idempotent_body(self) -> Iterator[bytes | bytearray]:
        """Yield what identifies a repeated request: the record's id if there is one, the query and the body."""
        yield str(self.kwargs.get("id", "")).encode()
        yield self.http_request.META.get("QUERY_STRING", "").encode("latin-1", "replace")
        yield from self.body_parts()

    def body_parts(self) -> Iterable[bytes | bytearray]:
        """Return the body's bytes in parts, from the start."""
        return (self.raw_body(),)

    def options_answer(self, request: Request, **kwargs: object) -> HttpResponse:
        """Answer OPTIONS with the methods of the path."""
        response = HttpResponse(status=204)
        response["Allow"] = ", ".join(self.allowed_methods)
        return response

    @property
    def allowed_methods(self) -> list[str]:
        """Return the methods that the path supports."""
        methods = [method for method in ("GET", "POST", "PUT", "DELETE") if method in self.operations]
        return [*methods, *(["HEAD"] if "GET" in self.operations else []), "OPTIONS"]

    def negotiate(self) -> None:
        """Raise the 406 if the caller accepts none of the endpoint's media types."""
        accept = self.http_request.META.get("HTTP_ACCEPT", "")
        if accept and not any(accepts(accept, media_type) for media_type in self.media_types):
            raise errors.ApiError(
                406, "NotAcceptable", f"The answer is available as {' or '.join(self.media_types)} only."
            )

    def check_parameters(self) -> None:
        """Read the query, by known names; raises the 400 for an unknown name and suggests the nearest one.

        A parameter that takes only one value is refused if it has two different ones, whatever the case of its name:
        nobody could say which of them applies.
        """
        self.query: dict[str, list[str]] = {}
        if not self.http_request.META.get("QUERY_STRING"):
            return
        queries.check_utf8(self.http_request)
        known_names = _known_parameters(self.operation)
        for query_name, query_values in queries.query_parameters(self.http_request).items():
            name = known_names.get(query_name.casefold())
            if name is None:
                raise errors.ApiError(
                    400, "UnknownParameter", unknown(query_name, known_names.values(), "query parameter")
                )
            self.query.setdefault(name, []).extend(queries.read_text(name, str(value)) for value in query_values)
        for name, texts in self.query.items():
            if len(texts) > 1 and len(set(texts)) > 1 and _takes_one_value(self.operation, name):
                raise queries.invalid(name, "This has more than one value; send one.")

    def render_refusal(self, refusal: errors.ApiError) -> HttpResponse:
        """Return the error response in the endpoint's media type."""
        return errors.answer(self.http_request, refusal)

    # --- What the methods use ---------------------------------------------------------------------------------------

    @cached_property
    def http_request(self) -> HttpRequest:
        """Return Django's own request."""
        return self.request._request

    @property
    def site_id(self) -> uuid.UUID:
        """Return the site that the request acts on."""
        return self.caller.site_id

    @property
    def author(self) -> Author:
        """Return the author to whom the request's changes are attributed."""
        return self.caller.author(getattr(self.http_request, "request_id", ""))

    @property
    def precondition(self) -> Precondition | None:
        """Return the check that the request's If-Match and If-None-Match headers ask for."""
        headers = self.http_request.META
        return conditional.precondition(headers.get("HTTP_IF_MATCH"), headers.get("HTTP_IF_NONE_MATCH"))

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean query parameter; raises the 400 InvalidParameter."""
        if name not in self.query:
            return default
        value = values.read_boolean(self.query[name][-1])
        if value is None:
            raise queries.invalid(name, "This must be true or false.")
        return value

    @property
    def validates_only(self) -> bool:
        """Return whether a write is only checked and not stored (DECISIONS 1.19); raises the 400."""
        return self.operation is not None and self.operation.writes and self.flag(VALIDATE_ONLY)

    def largest_body(self) -> int:
        """Return the maximum size of a body in bytes; an endpoint that takes files allows more."""
        return self.body_limit

    def raw_body(self) -> bytes | bytearray:
        """Return the body's bytes, read once; raises the 413."""
        if self._body is None:
            self._body = bodies.read(self.http_request, self.largest_body())
        return self._body
