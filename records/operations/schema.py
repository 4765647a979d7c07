"""The OpenAPI document, made from the declared operations."""

from collections.abc import Iterable, Mapping
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import build_array_type, build_examples_list
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from records.accounts.default_roles import ORDER, lowest_with
from records.operations.fields import MOST_IDS, MOST_ROWS, WireField
from records.operations.lists import LARGEST_PAGE, USUAL_PAGE
from records.operations.operation import ErrorShape, Operation, Parameter
from records.operations.queries import IN_FOLDERS
from records.operations.values import INTEGER_LIMIT, read_boolean


def _integer_schema(lowest: int, highest: int) -> dict[str, Any]:
    """Return the schema of a whole number within its bounds."""
    return {"type": "integer", "format": "int32", "minimum": lowest, "maximum": highest}


LIST_PARAMETERS = (
    OpenApiParameter("startIndex", _integer_schema(0, INTEGER_LIMIT), description="First row, from 0.", default=0),
    OpenApiParameter(
        "limit", _integer_schema(1, LARGEST_PAGE), description="Maximum number of rows on a page.", default=USUAL_PAGE
    ),
    OpenApiParameter("order", OpenApiTypes.STR, enum=["asc", "desc"], default="asc"),
    OpenApiParameter(
        "isArchived",
        {"anyOf": [{"type": "boolean"}, {"type": "string", "enum": ["any"]}]},
        description="`true` lists archived records and `false`, the default, active ones; `any` lists both.",
    ),
    OpenApiParameter("modifiedSince", OpenApiTypes.DATETIME, description="Changed at or after this moment."),
    OpenApiParameter("search", OpenApiTypes.STR, description="Part of a name or code, or the number."),
    OpenApiParameter("cursor", OpenApiTypes.STR, description="Where the page starts; taken from the Link header."),
)
_FOLDER = OpenApiParameter(IN_FOLDERS, OpenApiTypes.UUID, description="Filed in this folder.")
_KINDS: dict[str, Any] = {
    "text": OpenApiTypes.STR,
    "choice": OpenApiTypes.STR,
    "id": OpenApiTypes.UUID,
    "date-time": OpenApiTypes.DATETIME,
    "boolean": OpenApiTypes.BOOL,
    "position": _integer_schema(0, INTEGER_LIMIT),
}


def _header(name: str, kind: Any, statuses: list[int], description: str) -> OpenApiParameter:
    """Return a header of the responses with these statuses."""
    return OpenApiParameter(name, kind, OpenApiParameter.HEADER, response=statuses, description=description)


PAGE_HEADERS = (
    _header("X-Total-Count", OpenApiTypes.INT32, [200], "How many there are on all pages."),
    _header(
        "X-Modified-Until",
        OpenApiTypes.DATETIME,
        [200],
        "Every change with a stamp before this time is visible now, and no change with an earlier stamp will appear "
        "later. Send it as the next `modifiedSince` to miss nothing; some rows may then be listed twice.",
    ),
    _header("Link", OpenApiTypes.STR, [200], 'The next page, with `rel="next"`, while there is one.'),
)
RECORD_HEADERS = (
    _header("ETag", OpenApiTypes.STR, [200, 304], "The record's revision, for If-Match and If-None-Match."),
)
REFUSAL_HEADERS = (
    _header("WWW-Authenticate", OpenApiTypes.STR, [401], "The credential that is asked for."),
    _header("Retry-After", OpenApiTypes.INT32, [429, 503], "Seconds to wait before the next attempt."),
)
_REFUSALS = {
    400: "The request is not valid; Fields names every fault.",
    401: "The credential is missing or not valid.",
    403: "The caller's roles do not allow it.",
    404: "The site has no such record.",
    406: "The answer is not available in an accepted media type.",
    409: "The record's state, or another record, does not allow it.",
    412: "The record does not match If-Match or If-None-Match, usually because it has changed since it was read.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    429: "The limit of requests per minute is reached; see Retry-After.",
    503: "The database cannot be reached; see Retry-After.",
}


class OperationSchema(AutoSchema):
    """Describes a declared operation."""

    @property
    def operation(self) -> Operation:
        """Return the operation of the path and method."""
        operations: Mapping[str, Operation] = self.view.operations  # type: ignore[attr-defined]
        return operations[self.method]

    def get_operation_id(self) -> str:
        """Return the operation's name."""
        return self.operation.name

    def get_summary(self) -> str:
        """Return the operation's summary, or else its name."""
        return self.operation.summary or self.operation.name

    def get_description(self) -> str:  # type: ignore[override]
        """Return the docstring of the viewset method, who may call it, and which fields are empty for some of them."""
        text, role = super().get_description(), self.operation.role
        shape = self.operation.response
        private = sorted(getattr(shape, "option", lambda name: ())("private"))
        above = lowest_with(shape.Meta.private_permission) if private else role
        note = f" Empty below {above.label}: {', '.join(private)}." if ORDER.index(above) > ORDER.index(role) else ""
        return f"{text}\n\nLowest default role: {role.label}.{note}".strip()

    def get_tags(self) -> list[str]:
        """Return the endpoint."""
        return [self.path.lstrip("/").partition("/")[0]]

    def get_request_serializer(self) -> Any:
        """Return the operation's request: a single object, or also an array if it answers each entry."""
        operation = self.operation
        return (
            operation.request
            if operation.entry_response is None
            else {"application/json": self._one_or_many(operation.request, "request")}
        )

    def _one_or_many(self, one: Any, direction: Any, many: Any = None) -> dict[str, Any]:
        """Return the schema of an object, or of an array of them (of `many` if its entries are different)."""
        refs = [self.resolve_serializer(shape, direction).ref for shape in (one, many or one)]
        return {"oneOf": [refs[0], {"type": "array", "items": refs[1], "maxItems": self.operation.most_entries}]}

    def map_renderers(self, attribute: str) -> list[str]:
        """Return the media types of the endpoint."""
        media_types: tuple[str, ...] = getattr(self.view, "media_types", ())
        return list(media_types) if attribute == "media_type" else list(super().map_renderers(attribute))

    def get_response_serializers(self) -> Any:
        """Return the operation's response and every error that it can answer."""
        operation = self.operation
        response = operation.response(many=True) if operation.many else operation.response
        if operation.entry_response is not None:
            response = self._one_or_many(operation.response, "response", operation.entry_response)
        refusals = {
            status: OpenApiResponse(ErrorShape, description=text)
            for status, text in _REFUSALS.items()
            if status not in self._impossible(operation)
        }
        success = {200: OpenApiResponse(response, description="Success.")}
        if operation.takes_id and not operation.writes and not operation.many:
            success[304] = OpenApiResponse(description="The caller has the record already (If-None-Match).")
        return {**success, **refusals}

    @staticmethod
    def _impossible(operation: Operation) -> set[int]:
        if not operation.writes:
            return {409, 412, 413, 415}
        return ({404} if operation.adds else set()) | ({413, 415} if operation.request is None else set())

    def get_override_parameters(self) -> list[Any]:
        """Return the operation's query parameters, the list parameters and the headers."""
        operation = self.operation
        parameters: list[Any] = [_parameter(parameter, many=operation.many) for parameter in operation.parameters]
        if operation.many:
            parameters += [_sort(operation), *LIST_PARAMETERS, *([_FOLDER] if operation.lists_folders else ())]
        header: Any = OpenApiParameter.HEADER
        if operation.takes_id and operation.route is None:
            parameters.append(
                OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH, description="Id of the record.")
            )
        if operation.writes:
            text = "Check everything that the write would check, and store nothing: Message is `Valid.` and Id empty."
            parameters.append(OpenApiParameter("validateOnly", OpenApiTypes.BOOL, description=text, default=False))
        if operation.takes_id and not operation.writes and not operation.many:
            text = "The ETag of the last read; 304 while the record is still the same."
            parameters.append(OpenApiParameter("If-None-Match", str, header, description=text))
        if operation.writes:
            text = (
                "1 to 255 characters; a repeat within 24 hours writes nothing and gets the first answer, with "
                "the header `Idempotency-Replayed: true`."
            )
            parameters.append(OpenApiParameter("Idempotency-Key", str, header, description=text))
        if (operation.takes_id or operation.entry_response is not None) and operation.writes:
            text = "The ETag of the last read; 412 when the record has changed since."
            parameters.append(OpenApiParameter("If-Match", str, header, description=text))
            text = "The record must have none of these ETags, else 412; `*` means that it must not exist yet."
            parameters.append(OpenApiParameter("If-None-Match", str, header, description=text))
        count_headers = [
            _header(name, _integer_schema(0, INTEGER_LIMIT), [200], text) for name, text in operation.headers.items()
        ]
        return [
            *parameters,
            *count_headers,
            *(PAGE_HEADERS if operation.many else () if count_headers else RECORD_HEADERS),
            *REFUSAL_HEADERS,
        ]

    def get_examples(self) -> list[OpenApiExample]:
        """Return the values of path and query in the operation's examples."""
        examples = []
        for number, example in enumerate(self.operation.examples, start=1):
            title = example.title or f"Example {number}"
            values: list[tuple[str, Any, str]] = [("id", OpenApiParameter.PATH, example.id)] if example.id else []
            kinds = {parameter.name: parameter.kind for parameter in self.operation.parameters}
            values += [
                (name, OpenApiParameter.QUERY, _parse_value(kinds.get(name, ""), value))
                for name, value in example.query.items()
            ]
            examples += [
                OpenApiExample(title, value=value, parameter_only=(name, place)) for name, place, value in values
            ]
        return examples

    def _get_examples(
        self, serializer: Any, direction: str, media_type: str, status_code: Any = None, extras: Any = None
    ) -> Any:
        """Return the bodies or answers of the operation's examples; lists are shown as they are."""
        if media_type != "application/json":
            return {}
        examples = []
        for number, example in enumerate(self.operation.examples, start=1):
            value = example.body if direction == "request" else example.answer
            if value is not None and (direction == "request" or str(status_code) == str(example.status)):
                examples.append(OpenApiExample(example.title or f"Example {number}", value=value))
        return build_examples_list(examples)

    def _map_serializer_field(self, field: Any, direction: Any, bypass_extensions: bool = False) -> Any:
        """Return the field's schema, for a body with the values that clear the field."""
        schema = super()._map_serializer_field(field, direction, bypass_extensions)
        if direction != "request" or not isinstance(field, WireField) or field.read_only:
            return schema
        if None in field.clears:
            schema["nullable"] = True
        if "" in field.clears:
            # In a union the first kind of text keeps its format, and with it its type in generated clients.
            about = {"description": schema.pop("description")} if "description" in schema else {}
            schema = {**about, "anyOf": [schema, {"type": "string", "maxLength": 0}]}
        return schema

    def _get_paginator(self) -> None:
        return None

    def get_filter_backends(self) -> list[Any]:
        """Return an empty list: filters are parameters of the operation."""
        return []

    def _is_list_view(self, serializer: Any = None) -> bool:
        return self.operation.many or isinstance(serializer, serializers.ListSerializer)


def _parse_value(kind: str, value: str) -> Any:
    """Return a query parameter's value in the type of its schema."""
    if kind == "boolean":
        return read_boolean(value)
    return int(value) if kind in ("integer", "position") else value


def _parameter(parameter: Parameter, *, many: bool) -> OpenApiParameter:
    kind = _integer_schema(1, parameter.highest) if parameter.kind == "integer" else _KINDS[parameter.kind]
    description = parameter.description
    if many and parameter.filters and parameter.kind in ("text", "id", "choice"):
        if parameter.kind == "text":
            description = f"{description} The whole value, in any case.".strip()
        hint = "Repeat it" if parameter.kind == "text" and not parameter.separable else "Repeat it, or use commas,"
        description = f"{description} {hint} for any of several values.".strip()
    return OpenApiParameter(
        parameter.name,
        kind,
        description=description,
        enum=list(parameter.choices) or None,
        explode=None,
        required=parameter.required,
    )


def _sort(operation: Operation) -> OpenApiParameter:
    """Return the sort parameter."""
    plan = operation.response.plan()
    text = "A field, in any case. Texts are compared by their first 255 characters, equal values by Id."
    return OpenApiParameter(
        "sort", OpenApiTypes.STR, enum=list(plan.columns), default=plan.usual_sort, description=text
    )


def paths_of_operations(endpoints: Iterable[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Keep only the paths of operations, each without its trailing slash (a spectacular hook)."""
    return [
        (path, regex, method, view)
        for path, regex, method, view in endpoints
        if method in (operations := getattr(view, "initkwargs", {}).get("operations", {}))
        and path.endswith("/") == (operations[method].route == "/")
    ]


def whole_shapes(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Declare that responses always have all fields and that bodies have no others (DECISIONS 1.2, 1.6; a hook)."""
    for name, component in result.get("components", {}).get("schemas", {}).items():
        if component.get("type") != "object":
            continue
        if name.endswith("Request"):
            component["additionalProperties"] = False
        else:
            component["required"] = list(component.get("properties", ()))
        for field in component.get("properties", {}).values():
            address = next((choice for choice in field.get("oneOf", ()) if choice.get("format") == "email"), None)
            if address is not None:
                # A validator that does not check formats finds both alternatives of "an address or empty" true for an
                # empty text.
                del field["oneOf"]
                field |= {"type": "string", "maxLength": address["maxLength"]}
    return result


class ChildRowsShape(OpenApiSerializerFieldExtension):
    """Describes an array of objects by the child's serializer."""

    target_class = "records.operations.serializers.ChildRows"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Any:
        """Return the array's schema."""
        child = auto_schema.resolve_serializer(self.target.serializer_class, direction)
        return _with_max_items(build_array_type(child.ref), MOST_ROWS, direction)


def _with_max_items(array: dict[str, Any], max_count: int, direction: Any) -> dict[str, Any]:
    """Return the array's schema with the maximum length for bodies; stored arrays can be longer."""
    return {**array, "maxItems": max_count} if direction == "request" else array


class IdShape(serializers.Serializer[Any]):
    """An entry that points at a record."""

    Id = serializers.UUIDField()


class IdListShape(OpenApiSerializerFieldExtension):
    """Describes an array of `{Id}` objects."""

    target_class = "records.operations.serializers.IdList"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Any:
        """Return the array's schema."""
        array = build_array_type(auto_schema.resolve_serializer(IdShape, direction).ref)
        return _with_max_items(array, MOST_IDS, direction)


class TextListShape(OpenApiSerializerFieldExtension):
    """Describes an array of short texts."""

    target_class = "records.operations.fields.TextListField"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Any:
        """Return the array's schema."""
        text = {"type": "string", "maxLength": self.target.entry.max_length}
        return _with_max_items(build_array_type(text), MOST_ROWS, direction)


class EmailAddressShape(OpenApiSerializerFieldExtension):
    """Describes an e-mail address as plain text, since an empty text is not valid for the format."""

    target_class = "records.operations.fields.EmailAddressField"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Any:
        """Return the text's schema."""
        return {"type": "string", "maxLength": self.target.max_length, "description": "An e-mail address, or empty."}


class CredentialScheme(OpenApiAuthenticationExtension):
    """Describes the credentials of an endpoint as its authentication class declares them."""

    target_class = "records.operations.credentials.CredentialAuthentication"
    match_subclasses = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """Return the scheme's name."""
        name: str = self.target.scheme_name
        return name

    def get_security_definition(self, auto_schema: Any) -> Any:
        """Return the scheme."""
        return self.target.scheme

    def get_security_requirement(self, auto_schema: Any) -> Any:
        """Return what the operation requires."""
        return self.target.required_by(auto_schema.operation)
