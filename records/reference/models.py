"""The lists that records point into (DECISIONS 4): two lines per list over SystemEntry or SiteEntry."""

import uuid
from collections.abc import Iterable
from typing import Any, ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.history.digests import FieldChange
from records.history.trail import now
from records.history.visibility import READER
from records.reference.folding import FoldedField
from records.sites.models import ChildRow, Site, SiteRows
from records.sites.text import FreeTextField, LineField, fault_at, is_blank

QUESTION = 1_000
"""The most characters of an audit's question."""


class ReferenceEntry(models.Model):
    """One entry of a list: staff choose it, and integrators refer to it by its Id."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = LineField(blank=False)
    code = LineField()
    name_key = FoldedField("name")
    code_key = FoldedField("code")
    idx = models.PositiveIntegerField("position", default=0)
    is_archived = models.BooleanField("archived", default=False)
    created = models.DateTimeField(default=now, editable=False)
    last_modified = models.DateTimeField(default=now, editable=False)

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("site", "name_key", "code_key", "created", "last_modified")

    class Meta:
        abstract = True
        ordering = ("idx", "name", "id")

    def __str__(self) -> str:
        return self.name

    def history_role(self, changed: Iterable[FieldChange]) -> str:
        """Return the lowest default role that may see the change: every reader sees the lists."""
        return READER

    def clean(self) -> None:
        """Raise ValidationError if the name is invisible."""
        if is_blank(self.name):
            raise fault_at("name", gettext("The name must not be blank."), "RequiredField")


def _once(*scope: str) -> tuple[models.UniqueConstraint, ...]:
    """Return the constraints of a list: active entries have different codes, or different names if they have no code.

    Two products may have the same name if their codes are different. The operator classes (PostgreSQL only) let the
    same indexes serve `startswith`, so that choosing among 100,000 products reads only the rows that are shown.
    """
    scope_ops, text_ops = ["uuid_ops"] * len(scope), "varchar_pattern_ops"
    return (
        models.UniqueConstraint(
            fields=(*scope, "name_key", "code_key"),
            condition=models.Q(is_archived=False),
            opclasses=[*scope_ops, text_ops, text_ops],
            name="%(class)s_name_once",
            violation_error_code="Duplicate",
            violation_error_message=_("The list already has an active entry with this name and code."),
        ),
        models.UniqueConstraint(
            fields=(*scope, "code_key"),
            condition=models.Q(is_archived=False) & ~models.Q(code_key=""),
            opclasses=[*scope_ops, text_ops],
            name="%(class)s_code_once",
            violation_error_code="Duplicate",
            violation_error_message=_("The list already has an active entry with this code."),
        ),
    )


class SystemEntry(ReferenceEntry):
    """An entry that all sites share; the seed gives it a fixed Id."""

    SITE_PATH: ClassVar[str] = ""

    class Meta(ReferenceEntry.Meta):
        abstract = True
        constraints = _once()


class SiteEntry(ReferenceEntry):
    """An entry of one site's own list."""

    HISTORY_PROVES_ROWS: ClassVar[bool] = True

    # The list's own indexes start with the site, so the foreign key needs none.
    site = models.ForeignKey(Site, models.PROTECT, related_name="+", db_index=False)

    objects = SiteRows.as_manager()

    class Meta(ReferenceEntry.Meta):
        abstract = True
        constraints = _once("site")
        indexes = (
            models.Index(fields=("site", "idx", "name", "id"), name="%(class)s_order"),
            models.Index(
                fields=("site", "name", "id"), condition=models.Q(is_archived=False), name="%(class)s_by_name"
            ),
            models.Index(
                fields=("site", "code_key"), opclasses=("uuid_ops", "varchar_pattern_ops"), name="%(class)s_by_code"
            ),
        )


class Title(SystemEntry):
    """A form of address, such as Dr."""


class NatureOfEmployment(SystemEntry):
    """How a person is employed: by the organisation itself (Employee) or through an agency."""

    SEARCHED: ClassVar[tuple[str, ...]] = ("name_key",)

    class Meta(SystemEntry.Meta):
        verbose_name = "type of employment"
        verbose_name_plural = "types of employment"


class Nationality(SystemEntry):
    """A country of which a person can be a national (ISO 3166)."""

    class Meta(SystemEntry.Meta):
        verbose_name_plural = "nationalities"


class Country(SystemEntry):
    """A country; its code is the two letters of ISO 3166."""

    class Meta(SystemEntry.Meta):
        verbose_name_plural = "countries"


class Language(SystemEntry):
    """A language; its code is the two letters of ISO 639."""


class LanguageProficiency(SystemEntry):
    """How well a person speaks a language."""

    class Meta(SystemEntry.Meta):
        verbose_name_plural = "language proficiencies"


class EducationResult(SystemEntry):
    """How a course or training ended."""


class Product(SiteEntry):
    """What the site makes and sells, and what complaints are about. This list can become very long."""

    SEARCHED: ClassVar[tuple[str, ...]] = ("name_key", "code_key")


class Brand(SiteEntry):
    """A name under which products are sold."""


class ProductionUnit(SiteEntry):
    """A line, room or shift that makes products."""


class Nonconformance(SiteEntry):
    """A kind of failure to meet a requirement, such as a foreign body."""

    SEARCHED: ClassVar[tuple[str, ...]] = ("name_key", "code_key")


class Cause(SiteEntry):
    """The cause of a nonconformance."""


class ComplaintSource(SiteEntry):
    """Who complains, such as a consumer, a retailer or an authority."""


class ComplaintMethod(SiteEntry):
    """How a complaint reached the site, such as by telephone, e-mail or letter."""


class Department(SiteEntry):
    """A part of the site's organisation, such as packing."""


class MaterialCategory(SiteEntry):
    """A kind of material, such as ingredients or packaging."""

    SEARCHED: ClassVar[tuple[str, ...]] = ("name_key",)

    class Meta(SiteEntry.Meta):
        verbose_name_plural = "material categories"


class Checklist(SiteEntry):
    """A list of questions that an audit works through."""

    HISTORY_CHILDREN: ClassVar[tuple[str, ...]] = ("questions",)


class UnitOfMeasure(SiteEntry):
    """A unit of quantities, such as kg."""

    class Meta(SiteEntry.Meta):
        verbose_name = "unit of measure"
        verbose_name_plural = "units of measure"


class ChecklistQuestion(ChildRow):
    """One question of a checklist; its words are copied to an audit when the audit starts."""

    checklist = models.ForeignKey(Checklist, models.PROTECT, related_name="questions", db_index=False)
    question = LineField(blank=False, max_length=QUESTION)

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("checklist",)

    class Meta(ChildRow.Meta):
        verbose_name = "question"
        indexes = (models.Index(fields=("checklist", "idx"), name="question_of_checklist"),)

    def __str__(self) -> str:
        return self.question


class Rating(SiteEntry):
    """A scale for audits: the responses that a finding can have, and the bands that turn a score into a rating."""

    HISTORY_CHILDREN: ClassVar[tuple[str, ...]] = ("responses", "bands")


class RatingResponse(ChildRow):
    """One answer that an audit finding can have, with its score; without a score it adds nothing to the audit's score.

    A response that is removed from its rating is archived: the findings and programs that have it keep it, new ones
    cannot use it, and it is no longer listed.
    """

    SITE_PATH: ClassVar[str] = "rating__site"

    rating = models.ForeignKey(Rating, models.PROTECT, related_name="responses")
    name = LineField(blank=False)
    description = FreeTextField()
    score = models.DecimalField(
        max_digits=9, decimal_places=2, null=True, blank=True, validators=[MinValueValidator(0)]
    )
    fails = models.BooleanField(
        "fails the audit",
        default=False,
        db_default=False,
        help_text=_("One finding with this response gives the audit its lowest band, whatever the score is."),
    )
    is_archived = models.BooleanField("archived", default=False, editable=False)

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("rating",)

    class Meta(ChildRow.Meta):
        verbose_name = "response"

    def __str__(self) -> str:
        return gettext("%(response)s (fails the audit)") % {"response": self.name} if self.fails else self.name


def _percentage(label: str) -> Any:
    return models.DecimalField(
        label, max_digits=5, decimal_places=2, validators=[MinValueValidator(0), MaxValueValidator(100)]
    )


class ScoreBand(ChildRow):
    """A range of scores in percent, with the rating and the result that an audit gets for a score in it."""

    scale = models.ForeignKey(Rating, models.PROTECT, related_name="bands", verbose_name="rating scale")
    from_score = _percentage("from")
    to_score = _percentage("to")
    rating = LineField(blank=False)
    result = LineField()

    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = ("scale",)

    class Meta(ChildRow.Meta):
        constraints = (
            models.CheckConstraint(
                condition=models.Q(from_score__lte=models.F("to_score")),
                name="band_from_not_above_to",
            ),
        )

    def __str__(self) -> str:
        return gettext("%(first)s to %(last)s: %(rating)s") % {
            "first": self.from_score,
            "last": self.to_score,
            "rating": self.rating,
        }

    def clean(self) -> None:
        """Raise ValidationError if the band ends before it begins."""
        if self.from_score is not None and self.to_score is not None and self.from_score > self.to_score:
            raise fault_at("to_score", gettext("“To” must not be lower than “From”."), "InvalidValue")
