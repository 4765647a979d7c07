"""The lists of a user or group that filters and sorting can name, such as emails and members, by their stored rows."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, TextField, When
from scim2_models.path import CompareOperator

from records.accounts.models import Role, RoleMembership, UserAttribute
from scim.attributes import Nothing, Source, Term, Text
from scim.expressions import NEVER, ByCodePoint, Condition, text
from scim.nesting import IsMember


@dataclass(frozen=True, slots=True)
class Rows:
    """The entries of a list that has a table of its own."""

    queryset: QuerySet[Any]
    subs: dict[str, Source]
    first: tuple[str, ...] = ("pk",)

    def rows(self) -> QuerySet[Any]:
        """Return the entries of the outer row."""
        return self.queryset

    def sub(self, name: str) -> Source | None:
        """Return the source of a sub-attribute."""
        return self.subs.get(name)

    def order(self, name: str) -> Term:
        """Return the sub-attribute of the first entry."""
        source = self.subs.get(name) or Nothing()
        return Subquery(self.queryset.order_by(*self.first).annotate(_sorted=source.order()).values("_sorted")[:1])


@dataclass(frozen=True, slots=True)
class UserGroups:
    """The groups of a user. Each is a role with `membership_kind`: direct, or indirect through other groups."""

    visible: QuerySet[Role]
    subs: dict[str, Source]

    def rows(self) -> QuerySet[Role]:
        """Return the roles. If no role is a member of another, as is usual, only the user's memberships are read."""
        if not RoleMembership.objects.filter(member_role__isnull=False, role__in=self.visible).exists():
            return self.visible.filter(memberships__user_id=OuterRef("pk")).annotate(membership_kind=text("direct"))
        direct = Exists(RoleMembership.objects.filter(role_id=OuterRef("pk"), user_id=OuterRef(OuterRef("pk"))))
        how = Case(When(direct, then=text("direct")), default=text("indirect"), output_field=TextField())
        return self.visible.filter(IsMember(F("pk"), OuterRef("pk"))).annotate(membership_kind=how)

    def sub(self, name: str) -> Source | None:
        """Return the source of a sub-attribute."""
        return self.subs.get(name)

    def order(self, name: str) -> Term:
        """Return the sub-attribute of the first group by id."""
        source = self.subs.get(name) or Nothing()
        return Subquery(self.rows().order_by("pk").annotate(_sorted=source.order()).values("_sorted")[:1])


@dataclass(frozen=True, slots=True)
class AttributePart:
    """One part of a value that a directory sent and no column holds. It is a row of UserAttribute, if assigned."""

    attribute: str
    part: str
    of_entry: bool = False

    def _rows(self) -> QuerySet[UserAttribute]:
        if self.of_entry:
            return UserAttribute.objects.filter(
                user_id=OuterRef("user_id"), attribute=self.attribute, idx=OuterRef("idx"), part=self.part
            )
        return UserAttribute.objects.filter(user_id=OuterRef("pk"), attribute=self.attribute, part=self.part)

    def compare(self, op: CompareOperator, value: Any) -> Condition:
        """Return the condition that the row exists and matches; for `ne`, a missing row differs from every value."""
        if op == op.ne:
            return ~Q(self.compare(op.eq, value))
        if value is None:
            return ~Q(self.present()) if op == op.eq else NEVER
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, bytes):
            value = value.hex()
        start = Q(start=value[:100]) if op == op.eq else Q()
        return Exists(self._rows().filter(start & Q(Text(F("key")).compare(op, value))))

    def present(self) -> Condition:
        """Return the condition that the row exists."""
        return Exists(self._rows())

    def order(self) -> Term:
        """Return the row's text in code point order, or null when there is no row."""
        return ByCodePoint(Subquery(self._rows().values("key")[:1]))


@dataclass(frozen=True, slots=True)
class AttributeEntries:
    """The entries of a list that a directory sent and no table holds: rows of UserAttribute that share an index."""

    attribute: str

    def rows(self) -> QuerySet[UserAttribute]:
        """Return the parts of all entries of the outer row."""
        return UserAttribute.objects.filter(user_id=OuterRef("pk"), attribute=self.attribute)

    def sub(self, name: str) -> Source:
        """Return the source of this part of the entry."""
        return AttributePart(self.attribute, name, of_entry=True)

    def order(self, name: str) -> Term:
        """Return the part of the primary entry, or else of the first entry."""
        primary = Exists(
            UserAttribute.objects.filter(
                user_id=OuterRef("user_id"), attribute=self.attribute, idx=OuterRef("idx"), part="primary", key="true"
            )
        )
        rows = self.rows().filter(part=name).annotate(_primary=primary).order_by("-_primary", "idx")
        return ByCodePoint(Subquery(rows.values("key")[:1]))
