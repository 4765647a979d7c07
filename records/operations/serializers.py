"""The base class of every serializer: wire names in Meta.fields, a strict parser, and a plan for reading records.

`Meta` has `model`, `fields` (wire names, in the document's order) and, if there are any, `read_only`, `required`
(wire names that must be present and not empty), `may_be_blank` (required, yet allowed to be empty), `private` with
`private_permission`. A field that cannot be derived from the model, such as a child array, is declared on the class.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from rest_framework import serializers

from records.operations import fields as wire
from records.operations.bodies import is_out_of_range
from records.operations.errors import FieldError
from records.operations.json_subqueries import Convert, JsonRows, rows_of, shaper
from records.operations.names import snake, unknown
from records.operations.plans import ReadPlan
from records.sites.models import ChildRow
from records.sites.text import NAME, is_blank

SYSTEM = {
    "id",
    "site_sequence_id",
    "revision",
    "created",
    "created_by",
    "last_modified",
    "last_modified_by",
    "is_archived",
}

STAMPS = ("Created", "CreatedBy", "LastModified", "LastModifiedBy")
"""The fields in which every record says who added it and who changed it last, and when."""
MOST_NAMES = 1_000
"""The number of fields of an object up to which each of them is checked."""


class WireSerializer(serializers.Serializer[Any]):
    """Reads bodies strictly and knows how the record is read; see the module."""

    class Meta:
        model: ClassVar[type[models.Model]]
        fields: ClassVar[Sequence[str]] = ()

    @classmethod
    def option(cls, name: str) -> frozenset[str]:
        """Return a set of wire names from Meta; empty if it is not defined."""
        return frozenset(getattr(cls.Meta, name, ()))

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return the fields by wire name (called by the framework and by the OpenAPI document)."""
        # The framework binds each field to one serializer, so declared fields are copied, as the framework itself does.
        return {name: copy.deepcopy(field) for name, field in _build_fields(type(self))}

    @classmethod
    def wire_fields(cls) -> Mapping[str, Any]:
        """Return the class's fields by wire name, built once."""
        return _wire_fields(cls)

    @classmethod
    def wire_name(cls, name: str) -> str:
        """Return the wire name of a model's field, for faults that actions raise; `relation.field` for child rows."""
        relation, _, inner = name.partition(".")
        for field_name, field in cls.wire_fields().items():
            if source_of(field_name, field) in (relation, f"{relation}_id"):
                if not inner:
                    return field_name
                child = getattr(field, "serializer_class", None)
                return child.wire_name(inner) if child and inner != "id" else "Id"
        return name

    @classmethod
    def plan(cls) -> ReadPlan:
        """Return the plan by which the response is fetched and built, built once per class."""
        return _plan(cls)

    @classmethod
    def read_body(cls, body: Mapping[str, Any]) -> tuple[dict[str, Any], list[FieldError]]:
        """Return the values of a body under model names, and all of its faults.

        Read-only fields are accepted and ignored, except numbers that cannot be read anywhere; references are not
        resolved yet. An absent optional field is absent from the values; null clears the field.
        """
        values: dict[str, Any] = {}
        faults: list[FieldError] = []
        fields = cls.wire_fields()
        if len(body) > MOST_NAMES:
            return values, [
                FieldError("", "UnknownField", f"At most {MOST_NAMES} fields are allowed; this has {len(body)}.")
            ]
        required, may_be_blank = cls.option("required"), cls.option("may_be_blank")
        for name, value in body.items():
            field = fields.get(name)
            if field is None:
                faults.append(FieldError(name[:100], "UnknownField", unknown(name, fields, "field")))
            elif field.read_only:
                if is_out_of_range(value):
                    faults.append(FieldError(name, "InvalidValue", "A number here is out of range."))
            else:
                try:
                    stored_value = field.empty if value is None else field.read(value)
                except wire.WireError as fault:
                    faults.append(FieldError(name + fault.path, fault.code, fault.message))
                    continue
                except wire.CompositeError as several:
                    faults += [FieldError(name + fault.path, fault.code, fault.message) for fault in several.faults]
                    continue
                if name in required and (_missing(stored_value) if name not in may_be_blank else value is None):
                    faults.append(FieldError(name, "RequiredField", "This field is required and must not be empty."))
                    continue
                values[source_of(name, field)] = stored_value
        faults += [
            FieldError(name, "RequiredField", "This field is required.")
            for name in fields
            if name in required and name not in body
        ]
        return values, faults


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, str) and is_blank(value)) or value == []


def source_of(name: str, field: Any) -> str:
    """Return the model's name for a field: its declared source, else the snake-case form of its wire name."""
    source_name = field.source_name
    if source_name:
        return str(source_name)
    model_name = snake(name)
    return model_name[:-3] if isinstance(field, wire.ReferenceField) and model_name.endswith("_id") else model_name


_ID = wire.IdField()


class ChildRows(wire.ArrayField, serializers.Field[Any, Any, Any, Any]):
    """An array of objects stored as child rows; entries have an Id if they are updated (DECISIONS 1.5)."""

    def __init__(self, serializer_class: type[WireSerializer], source_name: str = "", **kwargs: Any) -> None:
        self.serializer_class = serializer_class
        kwargs.setdefault("required", None if kwargs.get("read_only") else False)
        super().__init__(source_name=source_name, **kwargs)

    def read(self, value: object) -> list[dict[str, Any]]:
        """Return the entries under model names; raises WireError or CompositeError."""
        entries = wire.entries_of(value, wire.MOST_ROWS, "objects")
        entry_values: list[dict[str, Any]] = []
        faults: list[wire.WireError] = []
        for index, entry in enumerate(entries):
            if not isinstance(entry, dict):
                faults.append(wire.WireError("InvalidValue", "This must be an object.", f"[{index}]"))
                continue
            body = {name: part for name, part in entry.items() if name != "Id"}
            values, entry_faults = self.serializer_class.read_body(body)
            faults += [wire.WireError(fault.code, fault.message, f"[{index}].{fault.field}") for fault in entry_faults]
            if entry.get("Id") not in (None, ""):
                try:
                    values["id"] = _ID.read(entry["Id"])
                except wire.WireError as fault:
                    faults.append(wire.WireError(fault.code, fault.message, f"[{index}].Id"))
            entry_values.append(values)
        if faults:
            raise wire.CompositeError(faults)
        return entry_values

    def reading(self, model: type[models.Model], source: str) -> tuple[JsonRows, Convert]:
        """Return the subquery and the converter of the array."""
        relation: Any = model._meta.get_field(source)
        child, owner = relation.related_model, relation.field.name
        sources, columns = [], {}
        for name, field in self.serializer_class.wire_fields().items():
            if field.write_only:
                continue
            attribute = source_of(name, field)
            sources.append(attribute)
            columns[name] = child._meta.get_field(attribute), field.show
        order = tuple(child._meta.ordering)
        return rows_of(child, owner, sources, order), shaper(columns)


class IdList(wire.ArrayField, serializers.Field[Any, Any, Any, Any]):
    """An array of `{Id}` objects stored as a many-to-many list; a repeated Id counts once."""

    def __init__(self, model: type[models.Model] | None = None, source_name: str = "", **kwargs: Any) -> None:
        self.model = model
        kwargs.setdefault("required", None if kwargs.get("read_only") else False)
        super().__init__(source_name=source_name, **kwargs)

    def read(self, value: object) -> list[wire.Reference]:
        """Return the references, not resolved yet; raises WireError or CompositeError."""
        entries = wire.entries_of(value, wire.MOST_IDS, "objects, each with an Id")
        references: dict[Any, wire.Reference] = {}
        faults: list[wire.WireError] = []
        for index, entry in enumerate(entries):
            if not isinstance(entry, dict) or set(entry) != {"Id"}:
                faults.append(wire.WireError("InvalidValue", "This must be an object with an Id alone.", f"[{index}]"))
                continue
            try:
                key = _ID.read(entry["Id"])
                if key is None:
                    raise wire.WireError("RequiredField", "An Id is required.")
            except wire.WireError as fault:
                faults.append(wire.WireError(fault.code, fault.message, f"[{index}].Id"))
                continue
            references.setdefault(key, wire.Reference(key, self.model))  # type: ignore[arg-type]
        if faults:
            raise wire.CompositeError(faults)
        return list(references.values())

    def reading(self, model: type[models.Model], source: str) -> tuple[JsonRows, Convert]:
        """Return the subquery over the linking table and the converter of the array."""
        through, owner, target = self._link(model, source)
        rows = rows_of(through, owner, [target], ("pk",))
        return rows, shaper({"Id": (through._meta.get_field(target), None)})

    def target(self, model: type[models.Model], source: str) -> tuple[type[models.Model], str]:
        """Return the kind of record that the list names, and the column of the linking table with its key."""
        through, _, target = self._link(model, source)
        column = through._meta.get_field(target)
        return column.related_model, column.attname

    @staticmethod
    def _link(model: type[models.Model], source: str) -> tuple[Any, str, str]:
        """Return the linking table and its foreign keys to the record and to the target."""
        field: Any = model._meta.get_field(source)
        if hasattr(field, "m2m_field_name"):
            return field.remote_field.through, field.m2m_field_name(), field.m2m_reverse_field_name()
        return field.through, field.field.m2m_reverse_field_name(), field.field.m2m_field_name()


def _build_fields(cls: type[WireSerializer]) -> Iterable[tuple[str, Any]]:
    fields = cls._declared_fields
    for name in cls.Meta.fields:
        yield name, fields[name] if name in fields else build_field(cls, name)


@cache
def _wire_fields(cls: type[WireSerializer]) -> dict[str, Any]:
    return dict(_build_fields(cls))


def build_field(cls: type[WireSerializer], name: str) -> Any:  # noqa: C901 (one line a kind of column)
    """Return the wire field for a model's column, which is found by its wire name."""
    model = cls.Meta.model
    source = snake(name)
    read_only = source in SYSTEM or name in cls.option("read_only")
    common: dict[str, Any] = {"read_only": True} if read_only else {"required": name in cls.option("required")}
    names = {field.name: field for field in model._meta.get_fields()}
    if source not in names and source.endswith("_id") and source[:-3] in names:
        source = source[:-3]
    column: Any = names[source]
    if source == "id" and issubclass(model, ChildRow):
        return wire.IdField(required=False, allow_null=False)
    if isinstance(column, models.ForeignKey):
        if read_only:
            return wire.IdField(**common, allow_null=column.null)
        nullable = column.null and name not in cls.option("required")
        return wire.ReferenceField(model=column.related_model, **common, allow_null=nullable)
    if isinstance(column, models.ManyToManyField):
        return IdList(column.related_model, **common)
    if isinstance(column, models.UUIDField):
        return wire.IdField(**common, allow_null=column.null)
    if isinstance(column, models.DateTimeField):
        return wire.DateTimeField(**common, allow_null=column.null)
    if isinstance(column, models.BooleanField):
        return wire.BooleanField(**common)
    if isinstance(column, models.DecimalField):
        digits = {"max_digits": column.max_digits, "decimal_places": column.decimal_places}
        return wire.NumberField(**digits, **_bounds_of(column), **common)
    if isinstance(column, models.IntegerField):
        return wire.IntegerField(**common, allow_null=column.null)
    if isinstance(column, models.EmailField):
        return wire.EmailAddressField(max_length=column.max_length, **common)
    if isinstance(column, models.CharField) and column.choices:
        return wire.ChoiceTextField(choices=column.choices, allow_blank=column.blank, **common)
    if isinstance(column, models.JSONField):
        return wire.TextListField(**common)
    if name in cls.option("may_be_blank") or not column.blank:
        common["allow_blank"] = name in cls.option("may_be_blank")
    return wire.TextField(max_length=column.max_length or NAME, **common)


def _bounds_of(column: models.Field[Any, Any]) -> dict[str, int]:
    """Return the lowest and the highest number that a column's own validators allow, if they define them."""
    kinds = {MinValueValidator: "lowest", MaxValueValidator: "highest"}
    validators: list[Any] = column.validators
    return {kinds[type(validator)]: validator.limit_value for validator in validators if type(validator) in kinds}


@cache
def _plan(cls: type[WireSerializer]) -> ReadPlan:
    plan = ReadPlan(cls.Meta.model)
    private = cls.option("private")
    for name, field in cls.wire_fields().items():
        if field.write_only:
            continue
        source = source_of(name, field)
        if isinstance(field, ChildRows | IdList):
            rows, shape = field.reading(cls.Meta.model, source)
            if isinstance(field, IdList):
                plan.add_ids(name, rows, shape, *field.target(cls.Meta.model, source))
            else:
                plan.add_rows(name, rows, shape)
            continue
        if isinstance(field, wire.OnDemandField):
            plan.add_constant(name, field.empty)
            continue
        column: Any = cls.Meta.model._meta.get_field(source)
        plan.add_column(name, column, field.show, empty=field.empty, private=name in private)
    return plan
