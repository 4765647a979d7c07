"""The viewset that every endpoint's is built on: from the key to the answer, by the operation's row."""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import orjson
from django.conf import settings
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import cached_property
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.viewsets import ViewSet

from records.accounts.keys import Caller
from records.accounts.opening import Proof, StaleAccessError, prove
from records.history.trail import Author, rehearsing
from records.operations import bodies, conditional, errors, idempotency, limits, lists, values
from records.operations.credentials import KEY_HEADER, SubscriptionKeyAuthentication, keep_private
from records.operations.names import unknown
from records.operations.operation import Operation, Parameter
from records.operations.plans import ReadPlan, Shape
from records.operations.references import resolve
from records.operations.serializers import WireSerializer, source_of
from records.sites.targets import seen_by
from records.sites.writing import Precondition, faults_in

VALIDATE_ONLY = "validateOnly"
"""The query parameter by which a write is checked and not stored."""


class OperationPermission(BasePermission):
    """Asks whether the caller's roles hold the permission of the operation's row."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return whether the row's permission is held; a method without a row goes on to its 405."""
        operation: Operation | None = view.operation
        return operation is None or view.permits(operation)


class OperationViewSet(ViewSet):
    """Turns requests into calls of its methods, one per operation row, and exceptions into refusals.

    A method takes the request (and the path's id as UUID) and returns an HttpResponse: `self.record(…)`,
    `self.listing(…)` or `self.written(…)`.
    """

    authentication_classes = (SubscriptionKeyAuthentication,)
    permission_classes = (OperationPermission,)
    http_method_names = [
        "get",
        "post",
        "put",
        "patch",
        "delete",
        "head",
        "options",
    ]
    rows: ClassVar[Mapping[str, Operation]] = {}
    body_limit: ClassVar[int] = bodies.BODY_LIMIT
    media_types: ClassVar[tuple[str, ...]] = ("application/json",)
    credential_headers: ClassVar[tuple[str, ...]] = (KEY_HEADER,)
    """The request headers that carry the caller's credentials."""
    variant: str = ""
    """What tells the tags of an answer in another media type from those of JSON."""

    operation: Operation | None = None
    caller: Caller
    """Whoever holds the request's key."""
    proven: bool = False
    """Whether the database has confirmed within this request what the caller may do."""
    answer_headers: Mapping[str, str]
    found: dict[str, Any] | None = None
    """What the body holds, under model names."""
    _body: bytes | bytearray | None = None

    # --- Before the method ------------------------------------------------------------------------------------------

    def permits(self, operation: Operation) -> bool:
        """Return whether the caller's roles hold the permission of the operation's row."""
        return self.caller.may(operation.permission)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Find the operation's row."""
        method = request.method or ""
        self.operation = self.rows.get("GET" if method == "HEAD" else method)
        self.http_request.larder_operation = self.operation.name if self.operation else ""  # type: ignore[attr-defined]

    def answered(self) -> HttpResponse:
        """Answer as the remembered caller where the database proves that their access still holds, else look it up.

        Nothing is refused to a remembered caller before the proof, because their access may have grown meanwhile.
        """
        authenticator: Any = self.get_authenticators()[0]
        caller: Caller | None = authenticator.remembered(self.request)
        spent = False
        if caller is not None:
            try:
                self.answer_headers = self.spend(caller).headers()
                spent = True
                return self.answer_as(caller, proven=False)
            except (StaleAccessError, *errors.REFUSALS):
                if self.proven:
                    raise
        found: Caller = authenticator.authenticate(self.request)[0]
        self.http_request.larder_caller = found  # type: ignore[attr-defined]
        if not spent:
            self.answer_headers = self.spend(found).headers()
        return self.answer_as(found, proven=True)

    def spend(self, caller: Caller) -> limits.Allowance:
        """Count the request against the caller's key; raises the 429."""
        return limits.spend("rate", str(caller.key_id), settings.RATE_LIMIT)

    def answer_as(self, caller: Caller, *, proven: bool) -> HttpResponse:
        """Check permission, media type, query parameters and path id, and run the operation for the caller.

        A write is proven before it starts; a read with its own statement or, where that does not ask, at its end.
        Raises StaleAccessError where the caller's access has changed.
        """
        self.caller = self.http_request.larder_caller = caller  # type: ignore[attr-defined]
        self.kwargs = dict(self.path_kwargs)
        self.proven = proven
        if self.operation is None or self.operation.writes:
            self.prove()
        self.check_permissions(self.request)
        self.negotiate()
        if self.operation is not None:
            self.check_parameters()
            if self.operation.request is not None:
                bodies.check_media_type(self.http_request)
            if self.operation.takes_id:
                self.check_path_id()
        response = self.run(self.handler_for(self.request.method or ""))
        self.prove()
        return response

    @property
    def proof(self) -> Proof | None:
        """Return the question that the operation's statement has to ask, or None where the caller is proven."""
        return None if self.proven else self.caller.proof

    def prove(self) -> None:
        """Ask whether the caller's access still holds, unless that is proven already; raises StaleAccessError."""
        if not self.proven:
            prove(self.caller.proof)
            self.proven = True

    def check_path_id(self) -> None:
        """Turn the path's id into a UUID; raises the 400 InvalidId."""
        key = values.read_uuid(self.kwargs["id"])
        if key is None:
            raise errors.ApiError(400, "InvalidId", "The Id in the path is not a UUID of 36 characters.")
        self.kwargs["id"] = key

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Run the operation; the path id that `initial` read replaces the text."""
        self.args, self.kwargs = args, kwargs
        self.path_kwargs = kwargs
        self.answer_headers = {}
        framed = self.initialize_request(request, *args, **kwargs)
        self.request = framed
        self.headers = self.default_response_headers
        response: HttpResponseBase
        try:
            self.initial(framed, *args, **kwargs)
            response = self.answered()
        except Exception as error:
            response = errors.handle_exception(error, {"request": framed, "view": self})
        for name, value in self.answer_headers.items():
            response.headers.setdefault(name, value)
        keep_private(response, *self.credential_headers)
        return response

    def handler_for(self, method: str) -> Callable[..., HttpResponse]:
        """Return the method that answers; raises the 405 where the path has no row for it."""
        if method == "OPTIONS":
            return self.options_answer
        if self.operation is None:
            self.http_method_not_allowed(self.request)
        return getattr(self, self.operation.action)  # type: ignore[union-attr]

    def run(self, handler: Callable[..., HttpResponse]) -> HttpResponse:
        """Call the method; a POST under an Idempotency-Key runs once, and a write with `validateOnly` stores nothing.

        Such a check neither reads nor keeps the answer of an Idempotency-Key (DECISIONS 13.2).
        """
        operation = self.operation
        if operation is not None and self.validates_only:
            with rehearsing():
                return handler(self.request, **self.kwargs)
        key = idempotency.key_of(self.http_request) if operation is not None and operation.method == "POST" else None
        if key is None or operation is None:
            return handler(self.request, **self.kwargs)
        return idempotency.once(
            key,
            user_id=self.caller.user_id,
            site_id=self.caller.site_id,
            operation=operation.name,
            body=self.idempotent_body(),
            act=lambda: handler(self.request, **self.kwargs),
        )

    def idempotent_body(self) -> tuple[bytes | bytearray, ...]:
        """Return what makes a repeated request the same: the query and the body, uncopied."""
        return self.http_request.META.get("QUERY_STRING", "").encode("latin-1", "replace"), self.raw_body()

    def options_answer(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Answer OPTIONS with the methods of the path."""
        response = HttpResponse(status=204)
        response["Allow"] = ", ".join(self.allowed_methods)
        return response

    @property
    def allowed_methods(self) -> list[str]:
        """Return the methods that the path takes."""
        taken = [method for method in ("GET", "POST", "PUT", "DELETE") if method in self.rows]
        return [*taken, *(["HEAD"] if "GET" in self.rows else []), "OPTIONS"]

    def negotiate(self) -> None:
        """Raise the 406 where the caller accepts none of the endpoint's media types."""
        accepted = self.http_request.META.get("HTTP_ACCEPT", "")
        if accepted and not any(lists.accepts(accepted, offered) for offered in self.media_types):
            raise errors.ApiError(
                406, "NotAcceptable", f"The answer is available as {' or '.join(self.media_types)} only."
            )

    def known_parameters(self) -> list[str]:
        """Return the names of the query parameters that the operation takes."""
        operation = self.operation
        if operation is None:
            return []
        own = [parameter.name for parameter in operation.parameters]
        own += lists.PARAMETERS if operation.many else ()
        return [*own, VALIDATE_ONLY] if operation.writes else own

    def takes_one_value(self, name: str) -> bool:
        """Return whether only one value of a query parameter can be meant; a list's filters take several."""
        own = () if self.operation is None else self.operation.parameters
        return name in (*lists.TAKEN_ONCE, VALIDATE_ONLY) or any(
            parameter.name == name and (parameter.kind in ("boolean", "integer", "position") or not parameter.filters)
            for parameter in own
        )

    def check_parameters(self) -> None:
        """Read the query under the known names; raises the 400 for an unknown one, naming the nearest.

        A parameter of which only one value can be meant is refused with two that differ, whatever the case of its name:
        nobody could say which of them holds.
        """
        lists.check_utf8(self.http_request)
        known = {name.casefold(): name for name in self.known_parameters()}
        self.query: dict[str, list[str]] = {}
        for given, found in self.http_request.GET.lists():
            name = known.get(given.casefold())
            if name is None:
                raise errors.ApiError(400, "UnknownParameter", unknown(given, known.values(), "query parameter"))
            self.query.setdefault(name, []).extend(lists.text(name, str(value)) for value in found)
        for name, values_given in self.query.items():
            if len(set(values_given)) > 1 and self.takes_one_value(name):
                raise lists.invalid(name, "This has more than one value; send one.")

    def render_refusal(self, refusal: errors.ApiError) -> HttpResponse:
        """Answer a refusal in the endpoint's media type."""
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
        """Return the author that the request's changes are written down to."""
        return self.caller.author(getattr(self.http_request, "request_id", ""))

    @property
    def precondition(self) -> Precondition | None:
        """Return the check that the request's If-Match asks for."""
        return conditional.precondition(self.http_request.META.get("HTTP_IF_MATCH"))

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean query parameter; raises the 400 InvalidParameter."""
        if name not in self.query:
            return default
        value = values.read_boolean(self.query[name][-1])
        if value is None:
            raise lists.invalid(name, "This must be true or false.")
        return value

    @property
    def validates_only(self) -> bool:
        """Return whether a write is to be checked without being stored (DECISIONS 1.19); raises the 400."""
        return self.operation is not None and self.operation.writes and self.flag(VALIDATE_ONLY)

    def largest_body(self) -> int:
        """Return how many bytes a body may have; an endpoint that takes files allows more."""
        return self.body_limit

    def raw_body(self) -> bytes | bytearray:
        """Return the body's bytes, read once; raises the 413."""
        if self._body is None:
            self._body = bodies.read(self.http_request, self.largest_body())
        return self._body

    def body(self, serializer: type[WireSerializer]) -> dict[str, Any]:
        """Return the body's values under model names, with references as records; raises the 400 with all faults."""
        return self.checked(bodies.decode_object(self.raw_body()), serializer)

    def checked(self, body: Mapping[str, Any], serializer: type[WireSerializer]) -> dict[str, Any]:
        """Return the values of a decoded body; private fields are left out where the caller may not see them."""
        self.serializer = serializer
        found, faults = serializer.read_body(body)
        seen = partial(seen_by, self.caller.user_id, self.caller.may)
        faults += resolve(found, serializer, self.site_id, seen)
        if not self.sees_private(serializer):
            fields = serializer.wire_fields()
            for name in serializer.option("private") & body.keys():
                found.pop(source_of(name, fields[name]), None)
        self.found = found
        if faults:
            raise errors.invalid(self.with_others(faults))
        return found

    def with_others(self, faults: list[errors.FieldError]) -> list[errors.FieldError]:
        """Return the faults and what else is wrong with the body, so that it is answered at once (DECISIONS 6).

        What the record's own checks find comes on top of what was found already, a field at a time.
        """
        serializer, row = self.serializer, self.operation
        if not self.found or row is None or row.each is not None:
            return faults
        model: Any = serializer.Meta.model
        record = model(site_id=self.site_id)
        if row.takes_id:
            record = self.records(model).filter(site_id=self.site_id, pk=self.kwargs["id"]).first()
        if record is None:
            return faults
        error = faults_in(record, self.found)
        others = [] if error is None else errors.faults_of(error, serializer.wire_name)
        known = {fault.field for fault in faults}
        fields = serializer.wire_fields()
        return faults + [
            fault
            for fault in others
            if fault.field not in known
            and (field := fields.get(re.split(r"[\[.]", fault.field)[0])) is not None
            and not field.read_only
        ]

    def sees_private(self, serializer: type[WireSerializer]) -> bool:
        """Return whether the caller may see and change the serializer's private fields."""
        permission = getattr(serializer.Meta, "private_permission", "")
        return not permission or self.caller.may(permission)

    def acting(self, action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call an action; faults that it raises come back as the 400 or 409 with wire names."""
        try:
            return action(*args, **kwargs)
        except errors.ValidationError as error:
            refusal = errors.refused(error, self.serializer.wire_name)
            raise errors.invalid(self.with_others(refusal.fields)) if refusal.status == 400 else refusal from error

    def written(self, record_id: uuid.UUID, revision: int | None = None, *, note: str = "") -> HttpResponse:
        """Return the success body of an add or update (DECISIONS 1.3), or of its check; `note` is added to Message."""
        if self.validates_only:
            return self.json({"Error": "", "Message": f"Valid.{note}", "Id": ""})
        response = self.json({"Error": "", "Message": f"Success.{note}", "Id": str(record_id)})
        if revision is not None:
            response["ETag"] = conditional.etag(revision, variant=self.variant)
        return response

    def json(self, value: Any) -> HttpResponse:
        """Return a value as JSON."""
        return HttpResponse(orjson.dumps(value), content_type="application/json")

    def records(self, model: type[models.Model]) -> models.QuerySet[Any]:
        """Return the records that the endpoint shows, without site; a viewset may narrow them."""
        return model._default_manager.all()

    def record(
        self, serializer: type[WireSerializer], record_id: uuid.UUID, *, show: Callable[[Shape], Any] | None = None
    ) -> HttpResponse:
        """Return one record of the site in its read shape, with ETag; 304 where the caller has it already.

        `show` answers with the shape where the endpoint adds to it; otherwise it is the body as it stands.
        """
        plan = serializer.plan()
        row = self.fetch_one(plan, lambda: self.records(serializer.Meta.model), record_id)
        if row is None:
            raise errors.not_found()
        with_private = self.sees_private(serializer)
        tag = conditional.etag(row[len(plan.names)], with_private=with_private, variant=self.variant)
        held = self.http_request.META.get("HTTP_IF_NONE_MATCH")
        if held is not None and conditional.matches(held, tag):
            response = HttpResponse(status=304)
        else:
            response = (show or self.json)(self.narrowed(plan.show(row, with_private=with_private)))
        response["ETag"] = tag
        return response

    def narrowed(self, shape: Shape) -> Shape:
        """Return a shape as the caller may see it; an endpoint whose callers see different parts overrides this."""
        return shape

    def fetch_one(
        self, plan: ReadPlan, records: Callable[[], models.QuerySet[Any, Any]], record_id: uuid.UUID
    ) -> Sequence[Any] | None:
        """Return the tuple of one record of the site, or None; its statement proves the caller too."""
        row = plan.fetch_one(records, self.site_id, record_id, self.proof)
        self.proven = self.proven or row is not None
        return row

    def listing(
        self, serializer: type[WireSerializer], rules: lists.ListRules, *, within: models.Q | None = None
    ) -> HttpResponse:
        """Return one page of the site's records as a bare array, with the paging headers (DECISIONS 3).

        `within` narrows the list to the records that belong to the one in the path.
        """
        asked = self.records(serializer.Meta.model).filter(site_id=self.site_id)
        return self.page_of(
            asked if within is None else asked.filter(within),
            serializer.plan(),
            rules,
            narrowed=within is not None,
            hidden=frozenset() if self.sees_private(serializer) else serializer.option("private"),
        )

    @property
    def parameters(self) -> Sequence[Parameter]:
        """Return the query parameters of the operation, with what each filters by."""
        return self.operation.parameters if self.operation else ()

    def page_of(
        self, rows: models.QuerySet[Any, Any], plan: ReadPlan, rules: lists.ListRules, **options: Any
    ) -> HttpResponse:
        """Return the page that the query asks for, of rows of the caller's site; its statements prove the caller."""
        page = lists.page(
            rows, plan, rules, self.query, self.parameters, site_id=self.site_id, proof=self.proof, **options
        )
        self.proven = True
        response = self.json([self.narrowed(shape) for shape in page.shapes])
        for name, value in page.headers(self.http_request).items():
            response[name] = value
        return response
