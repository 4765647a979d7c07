"""The endpoints of both mounts: django-scim2's views with projection and entity tags."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django_scim import views as stock

from records.accounts.models import Role, User
from records.accounts.opening import check
from records.accounts.provisioning import PasswordNotHashedError
from records.history.trail import LateStatements, Trail, recording
from records.operations import conditional
from records.sites.text import read_uuid
from scim import bulk, lists
from scim.adapters import GroupAdapter, UserAdapter
from scim.callers import Caller
from scim.calls import ProvisioningRequest, ProvisioningView, empty_response, refuse_other_schemas, scim_response
from scim.errors import ScimError, error_response, not_found
from scim.inner import Inner, send
from scim.models import ProvisioningCall
from scim.projection import Projection
from scim.representations import Representation, shows_names_of_others, version_of
from scim.requests import (
    QUERY_NAMES,
    Query,
    query_of,
    unread_names,
)
from scim.schemas import BULK_REQUEST, SEARCH_REQUEST


def _write_response(adapter: UserAdapter | GroupAdapter, document: Representation, status: int = 200) -> HttpResponse:
    """Return the response to a write, with the document that the adapter returned."""
    return scim_response(document, status, ETag=adapter.version, Location=adapter.location)


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
            return scim_response(lists.results(request.caller, self.kinds, self.read_query(request, QUERY_NAMES)))
        query = self.read_query(request)
        key = self.key_of(uuid)
        projection = Projection.of(self.kind, query, omits_on_request=request.caller.reads_rfc)
        documents = lists.documents_of(request.caller, self.kind, [key], projection)
        if not documents:
            raise not_found(self.kind, uuid)
        version = documents[0]["meta"]["version"]
        if conditional.is_current(request, version) and not shows_names_of_others(documents[0]):
            return HttpResponse(status=304, headers={"ETag": version})
        return scim_response(projection.apply(documents[0]), ETag=version, Location=documents[0]["meta"]["location"])

    def post(self, request: ProvisioningRequest, uuid: str | None = None) -> HttpResponse:
        """Create a resource."""
        if uuid is not None:
            return self.http_method_not_allowed(request)
        if request.META.get("HTTP_IF_MATCH") is not None:
            raise ScimError(412, "Send no If-Match or version with a POST: there is no resource yet.")
        body = self.read(request)
        return self._writing(request, partial(self._add, request, body))

    def _add(self, request: ProvisioningRequest, body: dict[str, object]) -> HttpResponse:
        with self._recording():
            adapter = self.scim_adapter(None, request=request)
            adapter.from_dict(body)
            adapter.save()
            return _write_response(adapter, adapter.document_after_write(self.read_query(request)), 201)

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

    def _change_to(self, request: ProvisioningRequest, key: str, body: dict[str, object]) -> HttpResponse:
        query = self.query_of_change(request)
        is_patch = request.method == "PATCH"
        says_nothing = is_patch and self.answers_nothing(request.caller, query)
        with self._locking(request, key, body if is_patch else None) as (adapter, trail):
            (adapter.handle_operations if is_patch else adapter.from_dict)(body)
            with trail.storing_at_end() if says_nothing else nullcontext():
                adapter.save()
            if says_nothing and not adapter.requested_values:
                return empty_response(ETag=version_of(adapter.obj.revision))
            document = adapter.document_after_write(query)
            return empty_response(ETag=adapter.version) if says_nothing else _write_response(adapter, document)

    def _writing(self, request: ProvisioningRequest, write: Callable[[], HttpResponse]) -> HttpResponse:
        """Call a write; one that sets a password ends after its checks, and begins again when the password is hashed.

        Nothing is locked meanwhile.
        """
        request.hashed_password = None
        note_count = len(request.caller.notes)
        try:
            return write()
        except PasswordNotHashedError as error:
            del request.caller.notes[note_count:]
            password_error = error
        request.hashed_password = password_error.hash()
        return write()

    @contextmanager
    def _recording(
        self, reading: LateStatements | None = None, statements_for_next_block: LateStatements | None = None
    ) -> Iterator[Trail]:
        """Open the transaction of a write, and keep its changes for the log.

        It begins with the check of a remembered caller; raises StaleAccessError if the token says something else now.
        """
        proof = self.proof
        begin = reading if proof is None else lambda: [proof.statement, *(reading() if reading else ())]
        with recording(begin, statements_for_next_block=statements_for_next_block) as trail:
            if proof is not None:
                check(proof, trail.answers.pop(0)[0][0])
                self.proof = None
            earlier = len(trail.pending)
            yield trail
            self.changes = tuple(trail.pending[earlier:])

    def query_of_change(self, request: ProvisioningRequest) -> Query:
        """Return the query that selects the attributes in the answer to a PUT or PATCH."""
        return self.read_query(request)

    def answers_nothing(self, caller: Caller, query: Query) -> bool:
        """Return whether a PATCH is answered 204 (DECISIONS 7.7)."""
        return False

    def delete(self, request: ProvisioningRequest, uuid: str | None = None) -> HttpResponse:
        """Delete a resource."""
        if uuid is None:
            return self.http_method_not_allowed(request)
        with self._locking(request, uuid) as (adapter, _):
            adapter.delete()
        return empty_response()

    def _allowed_methods(self) -> list[str]:
        """Return the allowed methods: a list can be read and added to; a resource can be read and changed."""
        disallowed_methods = ("POST",) if self.kwargs.get("uuid") else ("PUT", "PATCH", "DELETE")
        return [method for method in super()._allowed_methods() if method not in disallowed_methods]

    @contextmanager
    def _locking(
        self, request: ProvisioningRequest, text: str, operations: dict[str, object] | None = None
    ) -> Iterator[tuple[Any, Trail]]:
        """Open the transaction of a write to a resource, which is locked and whose version matches the entity tags.

        Yields its adapter, which has read the operations of a PATCH; raises ScimError (404, 412).
        """
        key = self.key_of(text)
        adapter = self.scim_adapter(None, request=request)
        if operations is not None:
            adapter.read_operations(key, operations)
        with self._recording(partial(adapter.locking, key), partial(adapter.statements_for_next_block, key)) as trail:
            try:
                is_visible = adapter.lock(key, trail.answers)
            except (User.DoesNotExist, Role.DoesNotExist):
                is_visible = False
            if not is_visible:
                raise not_found(self.kind, text)
            version = version_of(adapter.obj.revision)
            if_match = request.META.get("HTTP_IF_MATCH")
            if if_match is not None and not conditional.matches(if_match, version):
                raise ScimError(412, "The resource has changed since this version.")
            if conditional.is_current(request, version):
                raise ScimError(412, "The resource is of a version that the request rules out.")
            yield adapter, trail

    def key_of(self, text: str) -> uuid.UUID:
        """Return the id in a path, which is never an externalId; raises ScimError (404)."""
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
        query = self.note_unread(query_of(body), unread_names(body, ("schemas", *QUERY_NAMES)))
        return scim_response(lists.results(request.caller, self.kinds, query))


class RootView(SearchView):
    """The mount itself, which answers the same query over both kinds with the query in the address."""

    def get(self, request: ProvisioningRequest) -> HttpResponse:
        """Answer the query."""
        return scim_response(lists.results(request.caller, self.kinds, self.read_query(request, QUERY_NAMES)))

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
        return scim_response({"schemas": [bulk.BULK_RESPONSE], "Operations": results})


class NotImplementedView(ProvisioningView):
    """The endpoint Me, which answers 501 because it is not supported."""

    what = ""

    def _handler(self, request: HttpRequest) -> Callable[..., HttpResponse]:
        def refuse(*_: object, **__: object) -> HttpResponse:
            return error_response(501, f"{self.what} is not supported; see ServiceProviderConfig.")

        return refuse


class UnknownPathView(ProvisioningView):
    """Every other path below a mount, which answers 404 in the SCIM format."""

    def _handler(self, request: HttpRequest) -> Callable[..., HttpResponse]:
        raise ScimError(404, "There is no such endpoint.")
