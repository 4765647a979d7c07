"""Declares operations: each is declared once in its app's `urls.py`, and everything else is derived from that."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from django.conf import settings
from django.urls import URLPattern, path
from rest_framework import serializers

from records.accounts import default_roles
from records.accounts.models import DefaultRole
from records.operations.examples import Example
from records.operations.names import snake
from records.operations.values import INTEGER_LIMIT
from records.sites.models import FOLDER_ENTITIES, permission_on

READER, STANDARD = DefaultRole.READER, DefaultRole.STANDARD
MANAGER, SITE_ADMINISTRATOR = DefaultRole.MANAGER, DefaultRole.SITE_ADMINISTRATOR

Examples = Sequence[Example]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter of an operation in addition to the list parameters: its name, kind and meaning.

    Kinds: text, id, date-time, boolean, integer (from 1), position (from 0), choice. `lookup` is the ORM lookup of a
    list filter (default: the snake-case form of the name; texts match as a whole in any case, ids exactly), and
    `other_lookups` lists further ones, any of which may match instead. A parameter of an operation on a single record
    has no lookup. A parameter that says where something goes, and not which records are meant, does not filter.
    """

    name: str
    kind: str = "text"
    lookup: str = ""
    description: str = ""
    choices: Sequence[str] = ()
    other_lookups: Sequence[str] = ()
    required: bool = False
    filters: bool = True
    separable: bool = False
    """Whether commas separate the texts of a filter; meant for codes, which seldom contain commas."""
    highest: int = INTEGER_LIMIT
    """The highest value of an integer."""

    @property
    def lookups(self) -> tuple[str, ...]:
        """Return the ORM lookups of a list filter, any of which may match."""
        return (self.lookup or snake(self.name), *self.other_lookups)


class WriteResult(serializers.Serializer[Any]):
    """The answer to every successful add and update (DECISIONS 1.3)."""

    Error = serializers.CharField(help_text="Empty on success.", default="")
    Message = serializers.CharField(help_text="`Success.` on success; `Valid.` after a check with `validateOnly`.")
    Id = serializers.CharField(help_text="Id of the created or updated record, a UUID; empty after a check.")


class FaultShape(serializers.Serializer[Any]):
    """One fault of a body."""

    Field = serializers.CharField(help_text="The place of the fault, such as `EmploymentHistory[0].StartDate`.")
    Code = serializers.CharField(help_text="Such as RequiredField, UnknownField, InvalidDate, InvalidReference.")
    Message = serializers.CharField()


class ErrorShape(serializers.Serializer[Any]):
    """The body of every refusal (DECISIONS 6)."""

    Error = serializers.CharField(help_text="The code, such as ValidationFailed.")
    Message = serializers.CharField()
    Id = serializers.CharField(help_text="Always empty.")
    Fields = FaultShape(many=True)
    RequestId = serializers.CharField()


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One operation of the interface; see "How to add an operation" in the README.

    Most operations are declared by `adds`, `reads`, `lists` or `updates`, which know method and path.
    """

    method: str
    name: str
    permission: str
    role: DefaultRole
    response: Any
    request: type[serializers.BaseSerializer[Any]] | None = None
    entry_response: type[serializers.BaseSerializer[Any]] | None = None
    """The serializer of each entry's answer, if an array of requests is accepted as well as a single one."""
    most_entries: int = 0
    """How many entries such an array may have."""
    takes_id: bool = False
    many: bool = False
    route: str | None = None
    parameters: Sequence[Parameter] = ()
    summary: str = ""
    entity: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Response headers that contain a whole number, each with its meaning."""
    examples: Examples = ()

    @property
    def action(self) -> str:
        """Return the viewset method's name."""
        return snake(self.name)

    @property
    def writes(self) -> bool:
        """Return whether the operation changes anything."""
        return self.method != "GET"

    @property
    def adds(self) -> bool:
        """Return whether the operation always adds a record, instead of changing one that may be there."""
        return self.method == "POST" and self.entry_response is None

    @property
    def lists_folders(self) -> bool:
        """Return whether the operation lists records that can lie in folders."""
        meta = getattr(self.response, "Meta", None)
        return self.many and getattr(getattr(meta, "model", None), "ENTITY", None) in FOLDER_ENTITIES

    @property
    def pattern(self) -> str:
        """Return the path below the endpoint; every path is accepted with and without its trailing slash.

        A `route` that names its own id, or that starts with the slash after the endpoint, is used unchanged.
        """
        start = self.name if self.route is None else self.route
        return f"{start}/<str:id>".lstrip("/") if self.takes_id and "<" not in start else start


def adds(
    name: str, role: DefaultRole, body: Any, examples: Examples, *parameters: Parameter, **options: Any
) -> Operation:
    """Return the operation that adds the record of its body; it needs the permission to add one of that kind."""
    options |= {"parameters": parameters, "examples": examples}
    return Operation("POST", name, permission_on(body.Meta.model, "add"), role, WriteResult, body, **options)


def updates(name: str, role: DefaultRole, body: Any, examples: Examples) -> Operation:
    """Return the operation that changes, in the record with the id of its path, what its body contains.

    It needs the permission to change a record of that kind.
    """
    permission = permission_on(body.Meta.model, "change")
    return Operation("PUT", name, permission, role, WriteResult, body, takes_id=True, examples=examples)


def reads(name: str, answer: Any, examples: Examples, *parameters: Parameter, **options: Any) -> Operation:
    """Return the operation that answers the record with the id of its path.

    It needs a `permission`, by default that to view a record of the kind. Every role holds it.
    """
    options = {"permission": permission_on(answer.Meta.model), "takes_id": True, "parameters": parameters, **options}
    return Operation("GET", name, role=READER, response=answer, examples=examples, **options)


def lists(name: str, answer: Any, examples: Examples, *parameters: Parameter, **options: Any) -> Operation:
    """Return the operation that answers a page of records, which the parameters filter; it needs what `reads` does."""
    return reads(name, answer, examples, *parameters, **{"many": True, "takes_id": False, **options})


def declare_permission(permission: str, lowest: DefaultRole) -> None:
    """Give a permission without an operation to the lowest default role that holds it."""
    default_roles.register(permission, lowest)


_operations: list[tuple[Operation, object]] = []


def all_operations() -> Sequence[tuple[Operation, Any]]:
    """Return every operation with its viewset, in the order of the endpoints; loads all endpoints."""
    order = {package: place for place, package in enumerate(import_module(settings.ROOT_URLCONF).load())}
    # Paths and imports can load the endpoints in any order.
    return sorted(_operations, key=lambda entry: order.get(entry[1].__module__.rpartition(".")[0], len(order)))


def operation_urls(viewset: Any, *operations: Operation) -> list[URLPattern]:
    """Return the URL patterns of an endpoint's operations; those with the same path differ by method.

    Each path is accepted with and without a trailing slash. Registers the operations and the permissions of the default
    roles.
    """
    by_path: dict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in operations:
        getattr(viewset, operation.action)
        default_roles.register(operation.permission, operation.role)
        _operations.append((operation, viewset))
        by_path[operation.pattern][operation.method] = operation
    patterns = []
    for pattern, by_method in by_path.items():
        actions = {method.lower(): operation.action for method, operation in by_method.items()}
        view = viewset.as_view(actions, operations=by_method)
        name = next(iter(by_method.values())).name
        patterns.append(path(pattern, view, name=name))
        if pattern:
            patterns.append(path(pattern[:-1] if pattern.endswith("/") else f"{pattern}/", view))
    return patterns
