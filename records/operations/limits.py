"""Limits on requests per minute and credential, and on wrong credentials per address (DECISIONS 2.7).

Counters are in Django's cache: exact across workers with Redis (`CACHE_URL`), otherwise per process.
"""

import time
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest

from records.accounts.guesses import counted_address
from records.operations.errors import ApiError

WINDOW = 60


@dataclass(frozen=True, slots=True)
class Allowance:
    """The remaining allowance of a credential in the current minute."""

    limit: int
    remaining: int
    reset: int

    def headers(self) -> dict[str, str]:
        """Return the three rate-limit headers; reset is in seconds from now."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.reset),
        }


def count(kind: str, who: str) -> int:
    """Count one request in the current minute; returns the new count."""
    key = _counter(kind, who)
    for _ in range(2):
        try:
            return cache.incr(key)
        except ValueError:
            if cache.add(key, 1, WINDOW * 2):
                break
    return 1


def _counter(kind: str, who: str) -> str:
    return f"{kind}:{who}:{int(time.time()) // WINDOW}"


def _allowance(limit: int, number: int) -> Allowance:
    return Allowance(limit, max(0, limit - number), WINDOW - int(time.time()) % WINDOW)


def spend(kind: str, who: str, limit: int) -> Allowance:
    """Count one request of a credential; raises the 429 if the allowance of the minute is used up."""
    number = count(kind, who)
    allowance = _allowance(limit, number)
    if number > limit:
        raise too_many_requests(allowance)
    return allowance


def too_many_requests(allowance: Allowance) -> ApiError:
    """Return the 429 with Retry-After."""
    headers = {**allowance.headers(), "Retry-After": str(allowance.reset)}
    return ApiError(429, "RateLimited", f"Only {allowance.limit} requests a minute are allowed.", headers=headers)


def note_wrong_credential(request: HttpRequest) -> None:
    """Count a wrong (not a missing) credential from the address (a /64 for IPv6); raises the 429 above the limit."""
    limit: int = settings.AUTH_FAILURE_LIMIT
    number = count("wrong", counted_address(request.META.get("REMOTE_ADDR", "")))
    if number > limit:
        refusal = too_many_requests(_allowance(limit, number))
        refusal.message = "Too many wrong credentials from this address."
        raise refusal
