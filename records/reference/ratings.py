"""The inside of a Rating: its responses and score bands, what they must keep to, and the band of a score."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import pairwise

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from records.reference.models import Rating, RatingResponse, ScoreBand
from records.sites.text import fold
from records.sites.writing import Values, replace_children


def put_responses(rating: Rating, rows: Sequence[Values]) -> None:
    """Make rows (id, name, description, score, fails) the rating's responses, in that order; needs a transaction.

    A response that is missing is archived, since findings may have it; its id brings it back. Raises ValidationError.
    """
    kept = {row["id"] for row in rows if row.get("id")}
    gone = rating.responses.exclude(pk__in=kept).values_list("pk", flat=True)
    active = [{**row, "is_archived": False} for row in rows]
    replace_children(rating, "responses", [*active, *({"id": key, "is_archived": True} for key in gone)])
    check_responses(rating.responses.filter(is_archived=False))


def put_bands(rating: Rating, rows: Sequence[Values]) -> None:
    """Make rows (id, from_score, to_score, rating, result) the rating's score bands; needs a transaction.

    A band that is missing is removed: audit records keep the words that it gave them. Raises ValidationError.
    """
    replace_children(rating, "bands", rows)
    check_bands(rating.bands.all())


def check_responses(responses: Iterable[RatingResponse]) -> None:
    """Raise ValidationError when two responses of one rating have the same name."""
    names = [fold(response.name) for response in responses]
    if len(set(names)) < len(names):
        raise ValidationError(gettext("Two responses have the same name."), code="Duplicate")


def check_bands(bands: Iterable[ScoreBand]) -> None:
    """Raise ValidationError when score bands overlap; one may begin at the score at which another ends."""
    for lower, upper in pairwise(sorted(bands, key=lambda band: (band.from_score, band.to_score))):
        if upper.from_score < lower.to_score:
            raise ValidationError(
                gettext("The bands “%(lower)s” and “%(upper)s” overlap.") % {"lower": lower, "upper": upper},
                code="InvalidValue",
            )


def band_of(bands: Iterable[ScoreBand], score: Decimal) -> ScoreBand | None:
    """Return the band with From ≤ score ≤ To; where two bands touch, the higher one."""
    holding = [band for band in bands if band.from_score <= score <= band.to_score]
    return max(holding, key=lambda band: (band.from_score, band.to_score), default=None)


def lowest_band(bands: Iterable[ScoreBand]) -> ScoreBand | None:
    """Return the band that starts at the lowest score, which an audit with a failing response falls in."""
    return min(bands, key=lambda band: (band.from_score, band.to_score), default=None)
