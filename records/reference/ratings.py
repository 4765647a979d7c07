"""The responses and score bands of a rating: how they are set and checked, and the band of a score."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import pairwise

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from records.reference.models import Rating, RatingResponse, ScoreBand
from records.sites.text import fold
from records.sites.writing import Values, replace_children


def put_responses(rating: Rating, rows: Sequence[Values]) -> None:
    """Make the rows (id, name, description, score, fails) the rating's responses, in their order; needs a transaction.

    A response that is not among the rows is archived, because findings may have it. A row with the id of an archived
    response restores it. Raises ValidationError.
    """
    ids = {row["id"] for row in rows if row.get("id")}
    missing_ids = rating.responses.exclude(pk__in=ids).values_list("pk", flat=True)
    active = [{**row, "is_archived": False} for row in rows]
    replace_children(rating, "responses", [*active, *({"id": key, "is_archived": True} for key in missing_ids)])
    check_responses(rating.responses.filter(is_archived=False))


def put_bands(rating: Rating, rows: Sequence[Values]) -> None:
    """Make the rows (id, from_score, to_score, rating, result) the rating's score bands; needs a transaction.

    A band that is not among the rows is removed; audits keep the rating and result that they have. Raises
    ValidationError.
    """
    replace_children(rating, "bands", rows)
    check_bands(rating.bands.all())


def check_responses(responses: Iterable[RatingResponse]) -> None:
    """Raise ValidationError if two responses of a rating have the same name."""
    names = [fold(response.name) for response in responses]
    if len(set(names)) < len(names):
        raise ValidationError(gettext("Two responses have the same name."), code="Duplicate")


def check_bands(bands: Iterable[ScoreBand]) -> None:
    """Raise ValidationError if score bands overlap; a band may begin at the score at which another one ends."""
    for lower, upper in pairwise(sorted(bands, key=lambda band: (band.from_score, band.to_score))):
        if upper.from_score < lower.to_score:
            raise ValidationError(
                gettext("The bands “%(lower)s” and “%(upper)s” overlap.") % {"lower": lower, "upper": upper},
                code="InvalidValue",
            )


def band_of(bands: Iterable[ScoreBand], score: Decimal) -> ScoreBand | None:
    """Return the band with From ≤ score ≤ To; if two bands touch at the score, the higher one."""
    matches = [band for band in bands if band.from_score <= score <= band.to_score]
    return max(matches, key=lambda band: (band.from_score, band.to_score), default=None)


def lowest_band(bands: Iterable[ScoreBand]) -> ScoreBand | None:
    """Return the lowest band, which an audit with a failing response gets."""
    return min(bands, key=lambda band: (band.from_score, band.to_score), default=None)
