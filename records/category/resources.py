"""The import and export of the lists that records point into.

A site imports and exports its own lists. The lists that all sites share are only exported: they come with the product.
"""

from collections.abc import Callable
from typing import Any, ClassVar, cast

from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.category.serializers import ActiveRows, EntrySerializer, ResponseSerializer, ScoreBandSerializer
from records.operations.fields import NumberField
from records.operations.serializers import ChildRows, WireSerializer
from records.operations.tables import WireTable
from records.reference.actions import add_entry, update_entry
from records.reference.lists import SITE_LISTS, SYSTEM_LISTS
from records.reference.models import Checklist, ChecklistQuestion, Rating, ReferenceEntry
from records.sites.writing import Values


def _percentage(source: str) -> NumberField:
    return NumberField(source_name=source, required=True, max_digits=5, decimal_places=2, lowest=0, highest=100)


class QuestionRow(WireSerializer):
    """A question of a checklist in a file."""

    class Meta:
        model = ChecklistQuestion
        fields = ("Id", "Question")
        required = ("Question",)


class ResponseRow(ResponseSerializer):
    """A response of a rating in a file; its place follows from the order of the rows."""

    class Meta(ResponseSerializer.Meta):
        fields = ("Id", "Name", "Description", "Score", "Fails")  # type: ignore[assignment]
        required = ("Name",)


class BandRow(ScoreBandSerializer):
    """A score band of a rating in a file, which can also set it."""

    From = _percentage("from_score")
    To = _percentage("to_score")

    class Meta(ScoreBandSerializer.Meta):
        required = ("From", "To", "Rating")


class EntryResource(RecordResource):
    """The entries of one of a site's own lists; an import adds and changes them, but does not archive any."""

    def add(self, values: Values) -> ReferenceEntry:
        """Add an entry to the site's list."""
        model = cast("type[ReferenceEntry]", self.model)
        return add_entry(model, values, author=self.author, site_id=self.site_id, reason=self.reason)

    def change(self, record: ReferenceEntry, values: Values) -> ReferenceEntry:
        """Change an entry of the site's list."""
        return update_entry(record, values, author=self.author, reason=self.reason)


class SharedEntryResource(RecordResource):
    """The export of a list that all sites share."""

    can_import: ClassVar[bool] = False


CHILDREN: dict[type[ReferenceEntry], dict[str, Callable[[], ChildRows]]] = {
    Checklist: {"Question": lambda: ChildRows(QuestionRow, source_name="questions")},
    Rating: {
        "Response": lambda: ActiveRows(ResponseRow, source_name="responses"),
        "ScoreBand": lambda: ChildRows(BandRow, source_name="bands"),
    },
}
"""The child rows of those lists that have any."""


def _offer(model: type[ReferenceEntry], base: type[RecordResource]) -> None:
    """Register the resource of one list."""
    rows = {name: make() for name, make in CHILDREN.get(model, {}).items()}
    meta = {"model": model, "fields": (*EntrySerializer.Meta.fields, *rows), "required": ("Name",)}
    row: Any = type(f"{model.__name__}Row", (WireSerializer,), {"Meta": type("Meta", (), meta), **rows})
    transferable(type(f"{model.__name__}Resource", (base,), {"model": model, "table": WireTable(row)}))


for _model in SITE_LISTS.values():
    _offer(_model, EntryResource)
for _model in SYSTEM_LISTS.values():
    _offer(_model, SharedEntryResource)
