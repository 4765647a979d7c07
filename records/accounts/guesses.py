"""Counts wrong passwords and codes, and refuses further attempts for a while (DECISIONS 9.8, 13.7).

Sign-in, password change and signature count together. An attempt is counted before the secret is checked and removed
from the count if it was right, so that simultaneous attempts cannot exceed the limit either.
"""

import hashlib
import ipaddress
import threading
import time
from dataclasses import dataclass, field

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext

from records.accounts.models import GuessCounter

SLOW_SECONDS = 2
HOUR = 60 * 60
_slow_answers = threading.BoundedSemaphore(2)
"""How many responses of one process may be delayed at a time; others are refused, so that threads stay free."""


class TooManyGuessesError(ValidationError):
    """Raised if an attempt is refused unchecked; `wait` is the number of seconds until the next one is possible."""

    def __init__(self, wait: float) -> None:
        self.wait = max(1, round(wait))
        sentence = gettext("Too many wrong attempts. Wait a minute, then try again.")
        if self.wait > 90:
            minutes = -(-self.wait // 60)
            sentence = gettext("Too many wrong attempts. Try again in %(value)s minutes.") % {"value": minutes}
        super().__init__(sentence, code="TooManyGuesses")


@dataclass(frozen=True, slots=True)
class Limit:
    """One counter that an attempt counts towards: how many wrong ones it allows, and whether it refuses this one."""

    key: str
    allowed_count: int
    refuses: bool
    window: float


@dataclass(slots=True)
class Attempt:
    """One attempt that is being checked. It counts as wrong unless `was_right` is called."""

    limits: list[Limit]
    moment: float
    locked_keys: frozenset[str] = field(default_factory=frozenset)
    slow: bool = False

    @property
    def locks_account(self) -> bool:
        """Return whether this attempt, unless it was right, locked the account for unknown browsers."""
        return any(key.startswith("account:") for key in self.locked_keys)

    def was_right(self) -> None:
        """Remove the attempt from the counters, and undo the locks that only this attempt caused."""
        limits_by_key = {limit.key: limit for limit in self.limits}
        with transaction.atomic():
            for counter in _locked_rows(list(limits_by_key)):
                if self.moment in counter.times:
                    counter.times.remove(self.moment)
                if counter.key in self.locked_keys and len(counter.times) < limits_by_key[counter.key].allowed_count:
                    counter.locked_until = 0
                counter.save()


def counted_address(address: str) -> str:
    """Return the key that counts attempts from an address: the IPv4 address, or the /64 network of an IPv6 address."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    ipv4 = getattr(ip, "ipv4_mapped", None)
    if ipv4 is not None:
        return str(ipv4)
    if ip.version == 6:
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)


def begin(account: str, *, address: str, browser: str = "") -> Attempt:
    """Count an attempt at an account before its secret is checked; `browser` is the name of a known browser.

    `account` is the account's id, or the folded name that was typed if no account has it. Waits two seconds if the
    whole installation is under attack and the browser is unknown. Raises TooManyGuessesError if the account is locked
    for unknown browsers, the address is refused, or a known browser itself guessed too often.
    """
    window = settings.SIGN_IN_LOCK_MINUTES * 60
    allowed_count = settings.SIGN_IN_FAILURES_ACCOUNT
    is_unknown = not browser
    limits = [
        Limit(f"account:{_digest(account)}", allowed_count, is_unknown, window),
        Limit(f"address:{counted_address(address)}", settings.SIGN_IN_FAILURES_ADDRESS, is_unknown, window),
        Limit("all", settings.SIGN_IN_FAILURES_ALL, refuses=False, window=window),
    ]
    if browser:
        limits.append(Limit(f"browser:{_digest(browser + account)}", allowed_count, refuses=True, window=window))
    attempt = _count(limits)
    if is_unknown and attempt.slow:
        _wait()
    return attempt


def spend(kind: str, who: str, allowed_count: int, window: float = HOUR) -> None:
    """Count one act that is not a guess, such as a message.

    Raises TooManyGuessesError above `allowed_count` acts within a window of this many seconds.
    """
    _count([Limit(f"{kind}:{_digest(who)}", allowed_count, refuses=True, window=window)])


def _count(limits: list[Limit]) -> Attempt:
    """Count one attempt in one transaction, so that a refused one leaves no counter of a new name behind."""
    moment = time.time()
    attempt = Attempt(limits, moment)
    by_key = {limit.key: limit for limit in limits}
    GuessCounter.objects.filter(touched__lt=moment - 24 * HOUR).delete()
    locked_keys = set()
    with transaction.atomic():
        GuessCounter.objects.bulk_create(
            [GuessCounter(key=key, touched=moment) for key in sorted(by_key)], ignore_conflicts=True
        )
        for counter in _locked_rows(list(by_key)):
            limit = by_key[counter.key]
            if limit.refuses and counter.locked_until > moment:
                raise TooManyGuessesError(counter.locked_until - moment)
            recent = [attempt_time for attempt_time in counter.times if attempt_time > moment - limit.window]
            attempt.slow |= counter.key == "all" and len(recent) >= limit.allowed_count
            counter.times = [*recent, moment][-limit.allowed_count - 1 :]
            if len(counter.times) >= limit.allowed_count and counter.locked_until <= moment:
                counter.locked_until = moment + limit.window
                locked_keys.add(counter.key)
            counter.touched = moment
            counter.save()
    attempt.locked_keys = frozenset(locked_keys)
    return attempt


def _locked_rows(keys: list[str]) -> list[GuessCounter]:
    """Return the counters with their rows locked, always in the same order, so that attempts do not deadlock."""
    return list(GuessCounter.objects.select_for_update(no_key=True).filter(key__in=keys).order_by("key"))


def _wait() -> None:
    if not _slow_answers.acquire(blocking=False):
        raise TooManyGuessesError(SLOW_SECONDS)
    try:
        time.sleep(SLOW_SECONDS)
    finally:
        _slow_answers.release()


def _digest(text: str) -> str:
    """Return a digest of the name, of fixed length: somebody may have typed a password as the name."""
    return hashlib.sha256(text.encode()).hexdigest()
