"""The endpoints of both mounts: django-scim2's views with authentication, projection, entity tags and the log."""

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import orjson
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django_scim import views as stock

from records.accounts.models import Role, User
from records.accounts.opening import Reopening
from records.accounts.provisioning import PasswordNotHashedError
from records.history.models import Change
from records.history.trail import Reading, Trail, is_rehearsal, recording, rehearsing
from records.operations import conditional, limits
from records.operations.credentials import keep_private
from records.operations.outages import lost_deadlock
from records.operations.own_headers import put
from records.sites.text import read_uuid
from scim import bulk, lists, log
from scim.adapters import GroupAdapter, UserAdapter
from scim.callers import Caller, caller_of, remembered_caller_of
from scim.errors import MEDIA_TYPE, Refused, error_response, not_found, response_for
from scim.inner import Inner, inner_of, send
from scim.models import ProvisioningCall
from scim.mounts import Mount
from scim.patches import note_ignored, tidied_schemas
from scim.projection import Projection, undeclared_names
from scim.representations import Representation, version_of
from scim.requests import (
    LARGEST_BODY,
    QUERY_NAMES,
    SHOWN_NAMES,
    Query,
    query_of,
    query_of_request,
    read_body,
    unread_names,
)
from scim.schemas import BULK_REQUEST, POLICY, SEARCH_REQUEST

METHODS = ("get", "post", "put", "patch", "delete", "head", "options")
READING = frozenset({"GET", "HEAD", "OPTIONS"})
ATTEMPTS = 3
"""How often a request begins if it always loses a deadlock, for example to a dry run, which locks for many writes."""


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
    check: Reopening | None = None
    """That check, until it is made."""
    allowance: Mapping[str, str] = MappingProxyType({})

    @csrf_exempt
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer the request."""
        started = time.perf_counter()
        inner = inner_of(request)
        response = self._answered_at_last(request, inner, *args, **kwargs)
        put(response, self.allowance, unless_set=True)
        keep_private(response, "Authorization", "Accept")
        entry = log.entry(
            request,
            response,
            caller=self.caller,
            body=self.body,
            changes=self.changes if response.status_code < 400 else (),
            duration_ms=round((time.perf_counter() - started) * 1000),
            rolled_back=self.caller is not None and self.caller.dry_run and self._writes(request),
        )
        if inner is None or inner.entries is None:
            log.keep([*([entry] if entry else []), *self.entries])
        elif entry is not None:
            inner.entries.append(entry)
        return response

    def _answered_at_last(self, request: HttpRequest, inner: Inner | None, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer; a request begins again if PostgreSQL ended its transaction to resolve a deadlock: nothing is stored.

        An inner call of a dry run leaves that to the outer call, whose transaction it is.
        """
        attempts = 0
        while True:
            try:
                return self._answered(request, inner, *args, **kwargs)
            except Exception as error:
                attempts += 1
                begins_again = lost_deadlock(error)
                if begins_again and is_rehearsal():
                    raise
                if not begins_again or attempts == ATTEMPTS:
                    return response_for(error)

    def _answered(self, request: HttpRequest, inner: Inner | None, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer for a remembered caller if the write itself has checked that the token still says the same.

        Otherwise look the token up. Before the check a remembered caller is told nothing but that the database fails.
        """
        if inner is not None:
            # Bulk requests and the connection test make calls within this process for a caller who is already
            # identified.
            return self._answer_to(replace(inner.caller, notes=[]), request, *args, **kwargs)
        known = remembered_caller_of(request, self.mount) if self.checks_later and self._writes(request) else None
        if known is not None and not known.dry_run:
            self.check = known.check
            try:
                response = self._answer_to(known, request, *args, **kwargs)
                if self.check is None:
                    return response
            except Exception as error:
                if self.check is None or isinstance(error, DatabaseError):
                    raise
            self.check = self.caller = None
        return self._answer_to(caller_of(request, self.mount), request, *args, **kwargs)

    def _answer_to(self, caller: Caller, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Count the request for the caller's token, once, and answer it."""
        self.caller = caller
        request.caller = caller  # type: ignore[attr-defined]
        request.larder_caller = f"directory {caller.directory.pk}"  # type: ignore[attr-defined]
        inner = inner_of(request)
        if not self.allowance and (inner is None or inner.is_counted):
            limit: int = settings.SCIM_RATE_LIMIT
            self.allowance = limits.spend("provisioning", str(caller.token_id), limit).headers()
        if caller.read_only and self._writes(request):
            raise Refused(403, "This token is read-only: it changes nothing.")
        return self._answer(request, *args, **kwargs)

    def _writes(self, request: HttpRequest) -> bool:
        return request.method not in READING and not self.only_reads

    def _answer(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Call the method; with a dry-run token, everything that a write does is rolled back after it is answered.

        This includes what a refusal writes, such as the stop of the brake. The operations of a bulk request see the
        effects of earlier ones, because the request is rolled back as a whole at its end.
        """
        with POLICY:
            if self.caller is None or not self.caller.dry_run or inner_of(request) or not self._writes(request):
                return self._handler(request)(request, *args, **kwargs)
            with rehearsing():
                try:
                    response = self._handler(request)(request, *args, **kwargs)
                except Exception as error:
                    if lost_deadlock(error):
                        raise
                    response = response_for(error)
            return response

    def _handler(self, request: HttpRequest) -> Any:
        method = (request.method or "").lower()
        handler = getattr(self, method, None) if method in self.http_method_names else None
        if method == "head" and handler is None:
            handler = getattr(self, "get", None)
        return handler or self.http_method_not_allowed

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer 204 with the allowed methods."""
        return nothing(Allow=", ".join(self._allowed_methods()))

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer 405 with the allowed methods."""
        allowed = ", ".join(self._allowed_methods())
        return error_response(405, f"{request.method} is not allowed here.", headers={"Allow": allowed})

    def read(self, request: HttpRequest, largest: int = LARGEST_BODY) -> dict[str, Any]:
        """Read the body, and keep it for the log."""
        self.body = read_body(request, largest)
        return dict(self.body)

    def asked(self, request: HttpRequest, known: Sequence[str] = SHOWN_NAMES) -> Query:
        """Return the query in the request's address, of which the endpoint reads the `known` names."""
        if not request.META.get("QUERY_STRING"):
            return Query()
        return self.noted(query_of_request(request), unread_names(request.GET, known))

    def noted(self, query: Query, unread: Iterable[str]) -> Query:
        """Return the query, and note for the log the names that nothing reads and the attributes that do not exist."""
        if self.caller:
            note_ignored([*unread, *undeclared_names(self.kinds, query)], self.caller.notes)
        return query


def refuse_other_schemas(body: dict[str, Any], wanted: str) -> None:
    """Raise Refused (400) for a message whose schemas name another kind; schemas may be absent."""
    schemas = body.get("schemas")
    if schemas is not None and tidied_schemas(schemas, wanted) != [wanted]:
        raise Refused(400, f"schemas must hold {wanted} alone.", "invalidSyntax")


def answer(document: Representation, status: int = 200, **headers: str) -> HttpResponse:
    """Return a response with the document."""
    content: str | bytes
    try:
        content = orjson.dumps(document)
    except TypeError:  # a directory may have sent a whole number of more than 64 bits
        content = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    response = HttpResponse(content, status=status, content_type=MEDIA_TYPE)
    put(response, headers)
    return response


def _shown(adapter: Any, document: Representation, status: int = 200) -> HttpResponse:
    """Return the response to a write, with the document that the adapter returned."""
    return answer(document, status, ETag=adapter.version, Location=adapter.location)


def nothing(**headers: str) -> HttpResponse:
    """Return a response without a body, and therefore without a media type."""
    response = HttpResponse(status=204, headers=headers)
    del response["Content-Type"]
    return response


class ResourceView(ProvisioningView):
    """The endpoint of one resource type: its list, and each resource by its id."""

    scim_adapter_getter: Any = None
    checks_later = True

    @property
    def kind(self) -> str:
        """Return the resource type."""
        return self.kinds[0]

    def get(self, request: ProvisioningRequest, uuid: str | None = None) -> HttpResponse:
        """Answer a list or one resource."""
        if uuid is None:
            return answer(lists.results(request.caller, self.kinds, self.asked(request, QUERY_NAMES)))
        query = self.asked(request)
        key = self.key_of(uuid)
        projection = Projection.of(self.kind, query, spares=request.caller.reads_rfc)
        found = lists.documents_of(request.caller, self.kind, [key], projection)
        if not found:
            raise not_found(self.kind, uuid)
        version = found[0]["meta"]["version"]
        if conditional.is_current(request, version):
            return HttpResponse(status=304, headers={"ETag": version})
        return answer(projection.apply(found[0]), ETag=version, Location=found[0]["meta"]["location"])

    def post(self, request: ProvisioningRequest, uuid: str | None = None) -> HttpResponse:
        """Create a resource."""
        if uuid is not None:
            return self.http_method_not_allowed(request)
        if request.META.get("HTTP_IF_MATCH") is not None:
            raise Refused(412, "Send no If-Match or version with a POST: there is no resource yet.")
        body = self.read(request)
        return self._writing(request, partial(self._add, request, body))

    def _add(self, request: ProvisioningRequest, body: dict[str, Any]) -> HttpResponse:
        with self._recording():
            adapter = self.scim_adapter(None, request=request)
            adapter.from_dict(body)
            adapter.save()
            return _shown(adapter, adapter.written(self.asked(request)), 201)

    def put(self, request: ProvisioningRequest, uuid: str | None = None) -> HttpResponse:
        """Replace a resource."""
        return self._change(request, uuid)

    def patch(self, request: ProvisioningRequest, uuid: str | None = None) -> HttpResponse:
        """Change parts of a resource: all operations are applied, or none."""
        return self._change(request, uuid)

    def _change(self, request: ProvisioningRequest, key: str | None) -> HttpResponse:
        if key is None:
            return self.http_method_not_allowed(request)
        body = self.read(request)
        return self._writing(request, partial(self._change_to, request, key, body))

    def _change_to(self, request: ProvisioningRequest, key: str, body: dict[str, Any]) -> HttpResponse:
        query = self.query_of_change(request)
        is_patch = request.method == "PATCH"
        says_nothing = is_patch and self.answers_nothing(request.caller, query)
        with self._locking(request, key, body if is_patch else None) as (adapter, trail):
            (adapter.handle_operations if is_patch else adapter.from_dict)(body)
            with trail.ending() if says_nothing else nullcontext():
                adapter.save()
            if says_nothing and not adapter.sent:
                return nothing(ETag=version_of(adapter.obj.revision))
            document = adapter.written(query)
            return nothing(ETag=adapter.version) if says_nothing else _shown(adapter, document)

    def _writing(self, request: ProvisioningRequest, write: Callable[[], HttpResponse]) -> HttpResponse:
        """Call a write; one that sets a password ends after its checks, and begins again when the password is hashed.

        Nothing is locked meanwhile.
        """
        request.hashed_password = None
        noted = len(request.caller.notes)
        try:
            return write()
        except PasswordNotHashedError as needed:
            del request.caller.notes[noted:]
            password = needed.password
        request.hashed_password = make_password(password)
        return write()

    @contextmanager
    def _recording(self, reading: Reading | None = None, ahead: Reading | None = None) -> Iterator[Trail]:
        """Open the transaction of a write, and keep its changes for the log.

        It begins with the check of a remembered caller; raises StaleAccessError if the token says something else now.
        """
        check = self.check
        begin = reading if check is None else lambda: [check.statement, *(reading() if reading else ())]
        with recording(begin, ahead=ahead) as trail:
            if check is not None:
                check.check(trail.answers.pop(0))
                self.check = None
            earlier = len(trail.pending)
            yield trail
            self.changes = tuple(trail.pending[earlier:])

    def query_of_change(self, request: ProvisioningRequest) -> Query:
        """Return the query that selects the attributes in the answer to a PUT or PATCH."""
        return self.asked(request)

    def answers_nothing(self, caller: Caller, query: Query) -> bool:
        """Return whether a PATCH is answered 204 (DECISIONS 7.7)."""
        return False

    def delete(self, request: ProvisioningRequest, uuid: str | None = None) -> HttpResponse:
        """Delete a resource."""
        if uuid is None:
            return self.http_method_not_allowed(request)
        with self._locking(request, uuid) as (adapter, _):
            adapter.delete()
        return nothing()

    def _allowed_methods(self) -> list[str]:
        """Return the allowed methods: a list can be read and added to; a resource can be read and changed."""
        elsewhere = ("POST",) if self.kwargs.get("uuid") else ("PUT", "PATCH", "DELETE")
        return [method for method in super()._allowed_methods() if method not in elsewhere]

    @contextmanager
    def _locking(
        self, request: ProvisioningRequest, text: str, operations: dict[str, Any] | None = None
    ) -> Iterator[tuple[Any, Trail]]:
        """Open the transaction of a write to a resource, which is locked and whose version matches the entity tags.

        Yields its adapter, which has read the operations of a PATCH; raises Refused (404, 412).
        """
        key = self.key_of(text)
        adapter = self.scim_adapter(None, request=request)
        if operations is not None:
            adapter.read_operations(key, operations)
        with self._recording(partial(adapter.locking, key), partial(adapter.ahead, key)) as trail:
            try:
                seen = adapter.lock(key, trail.answers)
            except (User.DoesNotExist, Role.DoesNotExist):
                seen = False
            if not seen:
                raise not_found(self.kind, text)
            version = version_of(adapter.obj.revision)
            wanted = request.META.get("HTTP_IF_MATCH")
            if wanted is not None and not conditional.matches(wanted, version):
                raise Refused(412, "The resource has changed since this version.")
            if conditional.is_current(request, version):
                raise Refused(412, "The resource is of a version that the request rules out.")
            yield adapter, trail

    def key_of(self, text: str) -> uuid.UUID:
        """Return the id in a path, which is never an externalId; raises Refused (404)."""
        key = read_uuid(text)
        if key is None:
            raise not_found(self.kind, text)
        return key


class UsersView(ResourceView, stock.UsersView):
    """Users and Users/<id>."""

    kinds = ("User",)
    scim_adapter_getter = staticmethod(lambda: UserAdapter)


class GroupsView(ResourceView, stock.GroupsView):
    """Groups and Groups/<id>."""

    kinds = ("Group",)
    scim_adapter_getter = staticmethod(lambda: GroupAdapter)

    def answers_nothing(self, caller: Caller, query: Query) -> bool:
        """Return true for Entra, which expects an answer without a body, unless it asks for attributes."""
        return caller.dialect == caller.dialect.ENTRA and not query.attributes

    def query_of_change(self, request: ProvisioningRequest) -> Query:
        """Return the query. Okta and Entra read no members in the answer to a PATCH; its groups can be of any size."""
        query = super().query_of_change(request)
        dialect = request.caller.dialect
        if request.method != "PATCH" or dialect not in (dialect.OKTA, dialect.ENTRA) or query.attributes:
            return query
        return replace(query, excluded_attributes=(*query.excluded_attributes, "members"))


class SearchView(ProvisioningView, stock.SearchView):
    """<kind>/.search, and .search over both kinds, with the query in the body."""

    kinds = ("User", "Group")
    only_reads = True

    def post(self, request: ProvisioningRequest) -> HttpResponse:
        """Answer the query in the body."""
        body = self.read(request)
        refuse_other_schemas(body, SEARCH_REQUEST)
        query = self.noted(query_of(body), unread_names(body, ("schemas", *QUERY_NAMES)))
        return answer(lists.results(request.caller, self.kinds, query))


class RootView(SearchView):
    """The mount itself, which answers the same query over both kinds with the query in the address."""

    def get(self, request: ProvisioningRequest) -> HttpResponse:
        """Answer the query."""
        return answer(lists.results(request.caller, self.kinds, self.asked(request, QUERY_NAMES)))

    post = None  # type: ignore[assignment]


class BulkView(ProvisioningView):
    """Many writes in one request, each in its own transaction and checked like a single call."""

    def post(self, request: ProvisioningRequest) -> HttpResponse:
        """Make the calls and answer with their results."""
        body = self.read(request, bulk.LARGEST_PAYLOAD)
        refuse_other_schemas(body, BULK_REQUEST)
        operations, most_errors = bulk.operations_of(body, request.caller.notes)
        entries: list[ProvisioningCall] = []
        self.entries = entries
        inner = Inner(request.caller, entries=entries)
        results = bulk.run(operations, most_errors, partial(send, inner), request.caller.base)
        return answer({"schemas": [bulk.BULK_RESPONSE], "Operations": results})


class NotImplementedView(ProvisioningView):
    """The endpoint Me, which answers 501 because it is not supported."""

    what = ""

    def _handler(self, request: HttpRequest) -> Any:
        def refuse(*_: Any, **__: Any) -> HttpResponse:
            return error_response(501, f"{self.what} is not supported; see ServiceProviderConfig.")

        return refuse


class UnknownPathView(ProvisioningView):
    """Every other path below a mount, which answers 404 in the SCIM format."""

    def _handler(self, request: HttpRequest) -> Any:
        raise Refused(404, "There is no such endpoint.")
