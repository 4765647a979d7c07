"""How many requests a minute a credential has, and how many wrong credentials an address (DECISIONS 2.7).

Counters live in Django's cache: exact across workers with Redis (`CACHE_URL`), per process without.
"""

import time
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest

from records.operations.errors import ApiError

WINDOW = 60


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a credential has left in the current minute."""

    limit: int
    remaining: int
    reset: int

    def headers(self) -> dict[str, str]:
        """Return the three headers that say so; reset is in seconds from now."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.reset),
        }


def count(kind: str, who: str, limit: int) -> tuple[int, Allowance]:
    """Count one request of a minute; returns how many there were with it, and what is left."""
    moment = int(time.time())
    window, reset = moment // WINDOW, WINDOW - moment % WINDOW
    key = f"{kind}:{who}:{window}"
    if cache.add(key, 1, WINDOW * 2):
        number = 1
    else:
        try:
            number = cache.incr(key)
        except ValueError:
            cache.set(key, 1, WINDOW * 2)
            number = 1
    return number, Allowance(limit, max(0, limit - number), reset)


def spend(kind: str, who: str, limit: int) -> Allowance:
    """Count one request of a credential; raises the 429 when the minute's allowance is used up."""
    number, allowance = count(kind, who, limit)
    if number > limit:
        raise limited(allowance)
    return allowance


def limited(allowance: Allowance) -> ApiError:
    """Return the 429 with Retry-After."""
    headers = {**allowance.headers(), "Retry-After": str(allowance.reset)}
    return ApiError(429, "RateLimited", f"Only {allowance.limit} requests a minute are allowed.", headers=headers)


def note_wrong_credential(request: HttpRequest) -> None:
    """Count a wrong (not a missing) credential of the peer's address; raises the 429 above the limit."""
    limit: int = settings.AUTH_FAILURE_LIMIT
    number, allowance = count("wrong", request.META.get("REMOTE_ADDR", ""), limit)
    if number > limit:
        refusal = limited(allowance)
        refusal.message = "Too many wrong credentials from this address."
        raise refusal
