"""The inside of a Rating: its responses and score bands, what they must keep to, and the band of a score."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, TypeVar

from django.core.exceptions import ValidationError

from records.history.snapshots import columns
from records.reference.models import Rating, RatingResponse, ScoreBand
from records.sites.models import ChildRow
from records.sites.text import fold

Row = Mapping[str, Any]
Child = TypeVar("Child", bound=ChildRow)


def put_responses(rating: Rating, rows: Iterable[Row]) -> None:
    """Make rows (id, name, description, score) the rating's responses, in that order; needs a transaction.

    A response that is missing is archived, since findings may have it; its id brings it back. Raises ValidationError.
    """
    stored = list(rating.responses.all())
    before = {response.pk: columns(response) for response in stored}
    wanted = _filled(stored, rows, RatingResponse, rating=rating)
    check_responses(wanted)
    kept = {response.pk for response in wanted}
    gone = [response for response in stored if response.pk not in kept]
    for response in wanted:
        response.is_archived = False
    for response in gone:
        response.is_archived = True
    _store([*wanted, *gone], before)


def put_bands(rating: Rating, rows: Iterable[Row]) -> None:
    """Make rows (id, from_score, to_score, rating, result) the rating's score bands; needs a transaction.

    A band that is missing is removed: audit records keep the words that it gave them. Raises ValidationError.
    """
    stored = list(rating.bands.all())
    before = {band.pk: columns(band) for band in stored}
    wanted = _filled(stored, rows, ScoreBand, scale=rating)
    check_bands(wanted)
    rating.bands.exclude(pk__in=[band.pk for band in wanted]).delete()
    _store(wanted, before)


def check_responses(responses: Iterable[RatingResponse]) -> None:
    """Raise ValidationError when two responses of one rating have the same name."""
    names = [fold(response.name) for response in responses]
    if len(set(names)) < len(names):
        raise ValidationError("Two responses have the same name.", code="Duplicate")


def check_bands(bands: Iterable[ScoreBand]) -> None:
    """Raise ValidationError when score bands overlap; one may begin at the score at which another ends."""
    for lower, upper in pairwise(sorted(bands, key=lambda band: (band.from_score, band.to_score))):
        if upper.from_score < lower.to_score:
            raise ValidationError(f"The bands “{lower}” and “{upper}” overlap.", code="InvalidValue")


def band_of(bands: Iterable[ScoreBand], score: Decimal) -> ScoreBand | None:
    """Return the band with From ≤ score ≤ To; where two bands touch, the higher one."""
    holding = [band for band in bands if band.from_score <= score <= band.to_score]
    return max(holding, key=lambda band: (band.from_score, band.to_score), default=None)


def _filled(stored: Iterable[Child], rows: Iterable[Row], model: type[Child], **owner: Rating) -> Sequence[Child]:
    """Return a valid child for each row: the stored one with its id, or a new one; nothing is saved."""
    known = {child.pk: child for child in stored}
    filled = []
    for idx, row in enumerate(rows, start=1):
        child = known.pop(row["id"], None) if row.get("id") else model(**owner)
        if child is None:
            raise ValidationError(f"The rating has no row {row['id']}, or it was given twice.", code="InvalidReference")
        for name, value in row.items():
            if name != "id":
                setattr(child, name, value)
        child.idx = idx
        child.full_clean(exclude=[*owner])
        filled.append(child)
    return filled


def _store(children: Iterable[ChildRow], before: Mapping[Any, Mapping[str, Any]]) -> None:
    for child in children:
        if before.get(child.pk) != columns(child):
            child.save()
