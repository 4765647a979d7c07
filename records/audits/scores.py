"""The score of an audit, and what its rating scale calls it (DECISIONS 3, Audit Record)."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from records.audits.models import Finding
from records.reference.models import Rating, RatingResponse
from records.reference.ratings import band_of, lowest_band

HUNDREDTH = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an audit amounts to: the score from 0 to 100, or none, and the words of the band that it falls in."""

    score: Decimal | None = None
    rating: str = ""
    result: str = ""


def score_of(given: Iterable[Decimal | None], highest: Decimal | None) -> Decimal | None:
    """Return 100 times the sum of the given scores, over the highest score for each of them, to two decimals.

    Responses without a score do not count; when none has one, or the highest is 0, there is no score. Halves are
    rounded up, and bands are compared with the rounded score, so that what is shown explains itself.
    """
    counted = [score for score in given if score is not None]
    if not counted or not highest:
        return None
    score = 100 * sum(counted, Decimal(0)) / (highest * len(counted))
    return score.quantize(HUNDREDTH, rounding=ROUND_HALF_UP)


def highest_of(responses: Iterable[RatingResponse], used: Iterable[RatingResponse]) -> Decimal | None:
    """Return the highest score that a finding could have got; archived responses count only where they were given."""
    known = {response.pk: response.score for response in [*responses, *used]}
    return max((score for score in known.values() if score is not None), default=None)


def outcome_of(findings: Iterable[Finding], scale: Rating | None) -> Outcome:
    """Return what the findings amount to on the scale; two queries, for its responses and bands.

    A response that fails the audit puts it in the lowest band, whatever the score is and even without a score.
    """
    if scale is None:
        return Outcome()
    given = [finding.rating_response for finding in findings if finding.rating_response is not None]
    highest = highest_of(scale.responses.filter(is_archived=False), given)
    score = score_of([response.score for response in given], highest)
    if any(response.fails for response in given):
        band = lowest_band(scale.bands.all())
    elif score is not None:
        band = band_of(scale.bands.all(), score)
    else:
        return Outcome()
    return Outcome(score, band.rating, band.result) if band is not None else Outcome(score)
