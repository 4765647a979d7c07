"""Calculates the score of an audit and its rating on the rating scale (DECISIONS 3, Audit Record)."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from records.audits.models import Finding
from records.reference.models import Rating, RatingResponse
from records.reference.ratings import band_of, lowest_band

HUNDREDTH = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The evaluation of an audit: a score from 0 to 100 or None, and the texts of the band that contains it."""

    score: Decimal | None = None
    rating: str = ""
    result: str = ""


def score_of(scores: Iterable[Decimal | None], highest: Decimal | None) -> Decimal | None:
    """Return 100 times the sum of the scores divided by the highest possible sum, rounded to two decimals.

    Responses without a score do not count. If no response has a score, or the highest score is 0, the result is None.
    Halves are rounded up. Bands are compared with the rounded score, so that the rating agrees with the score that is
    shown.
    """
    numbers = [score for score in scores if score is not None]
    if not numbers or not highest:
        return None
    score = 100 * sum(numbers, Decimal(0)) / (highest * len(numbers))
    return score.quantize(HUNDREDTH, rounding=ROUND_HALF_UP)


def highest_of(responses: Iterable[RatingResponse], used: Iterable[RatingResponse]) -> Decimal | None:
    """Return the highest score that a finding could get; an archived response counts only if a finding has it."""
    scores = {response.pk: response.score for response in [*responses, *used]}
    return max((score for score in scores.values() if score is not None), default=None)


def outcome_of(findings: Iterable[Finding], scale: Rating | None) -> Outcome:
    """Return the evaluation of the findings on the scale; two queries, for the scale's responses and bands.

    A response that fails the audit puts the audit in the lowest band for any score, and also without a score.
    """
    if scale is None:
        return Outcome()
    responses = [finding.rating_response for finding in findings if finding.rating_response is not None]
    highest = highest_of(scale.responses.filter(is_archived=False), responses)
    score = score_of([response.score for response in responses], highest)
    if any(response.fails for response in responses):
        band = lowest_band(scale.bands.all())
    elif score is not None:
        band = band_of(scale.bands.all(), score)
    else:
        return Outcome()
    return Outcome(score, band.rating, band.result) if band is not None else Outcome(score)
