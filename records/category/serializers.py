"""The row that every list answers, and the whole shape of a rating."""

from collections.abc import Container
from functools import cache
from typing import Any, ClassVar

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, Concat, NullIf, Trim

from records.accounts.models import User
from records.operations import fields as wire
from records.operations.json_subqueries import Convert, JsonRows
from records.operations.names import snake
from records.operations.plans import ReadPlan
from records.operations.serializers import ChildRows, WireSerializer
from records.reference.models import Rating, RatingResponse, ReferenceEntry, ScoreBand
from records.sites.models import EntityFolder, Site
from records.sites.text import EMAIL, NAME, LineField


def _line(text: str) -> Value:
    return Value(text, output_field=LineField())


_NO_PLACE = Value(0, output_field=models.IntegerField())
_FULL_NAME = Trim(Concat("given_name", _line(" "), "family_name"))

EXPRESSIONS: dict[type[models.Model], dict[str, Any]] = {
    Site: {"idx": _NO_PLACE},
    EntityFolder: {"code": _line("")},
    User: {
        "name": Coalesce(
            NullIf("display_name", _line("")),
            NullIf(_FULL_NAME, _line("")),
            F("user_name"),
            output_field=LineField(),
        ),
        "code": Coalesce(F("employee__code"), _line(""), output_field=LineField()),
        "email_address": models.ExpressionWrapper(F("email"), output_field=LineField()),
        "idx": _NO_PLACE,
        "is_archived": models.ExpressionWrapper(Q(is_active=False), output_field=models.BooleanField()),
    },
}
"""What a row shows of a model that has no column for it."""


class EntryPlan(ReadPlan):
    """Fetches a row's values, computing those for which the model has no column."""

    def __init__(self, model: type[models.Model], names: tuple[str, ...], private: Container[str] = ()) -> None:
        super().__init__(model)
        self.expressions = EXPRESSIONS.get(model, {})
        for name in names:
            column = self._column(snake(name))
            self.add_column(name, column, None, empty="", private=name in private)

    def _column(self, source: str) -> Any:
        if source not in self.expressions:
            return self.model._meta.get_field(source)
        column = self.expressions[source].output_field.clone()
        column.set_attributes_from_name(source)
        return column

    def computing(self, queryset: models.QuerySet[Any, Any]) -> models.QuerySet[Any, Any]:
        """Return the queryset with the computed values, so that it can be filtered and sorted by them."""
        missing_expressions = {
            name: value for name, value in self.expressions.items() if name not in queryset.query.annotations
        }
        return queryset.annotate(**missing_expressions) if missing_expressions else queryset

    def fetching(self, queryset: models.QuerySet[Any, Any], **options: Any) -> models.QuerySet[Any, Any]:
        """Return the queryset reduced to the plan's values, computed ones included."""
        return super().fetching(self.computing(queryset), **options)


class EntrySerializer(WireSerializer):
    """One row of a list: what to point at, and what people call it."""

    Id = wire.IdField(read_only=True, allow_null=False)
    Name = wire.TextField(read_only=True, max_length=NAME)
    Code = wire.TextField(read_only=True, max_length=NAME)
    Idx = wire.IntegerField(read_only=True, allow_null=False, help_text="Its place in the list, where it has one.")
    IsArchived = wire.BooleanField(read_only=True)

    class Meta:
        model: ClassVar[type[models.Model]] = ReferenceEntry
        fields: ClassVar[tuple[str, ...]] = ("Id", "Name", "Code", "Idx", "IsArchived")

    @classmethod
    def plan(cls) -> EntryPlan:
        """Return the plan by which the list's rows are fetched and shown, built once."""
        return _plan(cls)


@cache
def _plan(cls: type[EntrySerializer]) -> EntryPlan:
    return EntryPlan(cls.Meta.model, cls.Meta.fields, cls.option("private"))


class UserEntrySerializer(EntrySerializer):
    """One person who holds a role at the site."""

    EmailAddress = wire.TextField(
        read_only=True, max_length=EMAIL, help_text="Empty for callers whose role is below Manager."
    )

    class Meta(EntrySerializer.Meta):
        model = User
        fields = (*EntrySerializer.Meta.fields, "EmailAddress")
        private = ("EmailAddress",)
        private_permission = "employees.view_private_employee"


def entry_serializer(name: str, model: type[models.Model]) -> type[EntrySerializer]:
    """Return the serializer of one list's rows."""
    meta = type("Meta", (EntrySerializer.Meta,), {"model": model})
    doc = f"One entry of the list of {model._meta.verbose_name_plural}."
    return type(f"{name}EntrySerializer", (EntrySerializer,), {"Meta": meta, "__doc__": doc})


class ResponseSerializer(WireSerializer):
    """One response that a finding can have. A null `Score` adds nothing; `Fails` gives the audit its lowest band."""

    class Meta:
        model = RatingResponse
        fields = ("Id", "Name", "Description", "Score", "Idx", "Fails")


class ScoreBandSerializer(WireSerializer):
    """What scores from `From` to `To` are called, and the result that they stand for."""

    From = wire.NumberField(source_name="from_score", read_only=True, allow_null=False)
    To = wire.NumberField(source_name="to_score", read_only=True, allow_null=False)

    class Meta:
        model = ScoreBand
        fields = ("Id", "From", "To", "Rating", "Result")


class ActiveRows(ChildRows):
    """Child rows without the archived ones."""

    def reading(self, model: type[models.Model], source: str) -> tuple[JsonRows, Convert]:
        """Return the subquery over the active rows and the converter of the array."""
        rows, shape = super().reading(model, source)
        rows.query.add_q(Q(is_archived=False))
        return rows, shape


class RatingSerializer(WireSerializer):
    """A rating with its responses and score bands."""

    Response = ActiveRows(ResponseSerializer, source_name="responses", read_only=True, required=None)
    ScoreBand = ChildRows(ScoreBandSerializer, source_name="bands", read_only=True, required=None)

    class Meta:
        model = Rating
        fields = ("Id", "Name", "Code", "Idx", "IsArchived", "Response", "ScoreBand")
