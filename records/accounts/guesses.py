"""Counts wrong passwords and codes, and refuses more of them for a while (DECISIONS 9.8, 13.7).

Sign-in, password change and signature count together. An attempt is counted before the secret is checked and taken
off again when it was right, so that attempts made at the same moment cannot exceed the limit either.
"""

import hashlib
import ipaddress
import threading
import time
from dataclasses import dataclass, field

from django.conf import settings
from django.db import transaction

from records.accounts.models import GuessCounter

SLOW_SECONDS = 2
HOUR = 60 * 60
_slow_answers = threading.BoundedSemaphore(2)
"""How many answers of one process may wait at a time: the others are refused, so that threads stay free."""


class TooManyGuessesError(Exception):
    """This attempt is refused, unchecked; `wait` says for how many seconds."""

    def __init__(self, wait: float) -> None:
        self.wait = max(1, round(wait))
        super().__init__(f"Refused for {self.wait} s.")

    @property
    def sentence(self) -> str:
        """Return what the page says."""
        if self.wait <= 90:
            return "Too many wrong attempts. Wait a minute, then try again."
        return f"Too many wrong attempts. Try again in {-(-self.wait // 60)} minutes."


@dataclass(frozen=True, slots=True)
class Limit:
    """One counter that an attempt goes into: how many wrong ones it allows, and whether it refuses this attempt."""

    key: str
    most: int
    refuses: bool
    window: float


@dataclass(slots=True)
class Attempt:
    """One attempt that is being checked. It stays counted as wrong unless `was_right` is called."""

    limits: list[Limit]
    moment: float
    locked: frozenset[str] = field(default_factory=frozenset)
    slow: bool = False

    @property
    def locks_account(self) -> bool:
        """Return whether the account is locked for unknown browsers since this attempt, unless it was right."""
        return any(key.startswith("account:") for key in self.locked)

    def was_right(self) -> None:
        """Take the attempt off the counters again, and lift the locks that only it had reached."""
        mine = {limit.key: limit for limit in self.limits}
        with transaction.atomic():
            for counter in _locked_rows(list(mine)):
                if self.moment in counter.times:
                    counter.times.remove(self.moment)
                if counter.key in self.locked and len(counter.times) < mine[counter.key].most:
                    counter.locked_until = 0
                counter.save()


def counted_address(address: str) -> str:
    """Return what attempts from an address count for: the IPv4 address, or the /64 network of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    mapped = getattr(parsed, "ipv4_mapped", None)
    if mapped is not None:
        return str(mapped)
    if parsed.version == 6:
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


def begin(account: str, *, address: str, browser: str = "") -> Attempt:
    """Count an attempt at an account before its secret is checked; `browser` names one that is known to the account.

    `account` is the account's id, or the folded name that was typed where no account has it. Wait two seconds where
    the whole installation is under attack and the browser is unknown. Raise TooManyGuessesError where the account is
    locked for unknown browsers, the address is refused, or a known browser guessed too often itself.
    """
    window = settings.SIGN_IN_LOCK_MINUTES * 60
    most = settings.SIGN_IN_FAILURES_ACCOUNT
    unknown = not browser
    limits = [
        Limit(f"account:{_digest(account)}", most, unknown, window),
        Limit(f"address:{counted_address(address)}", settings.SIGN_IN_FAILURES_ADDRESS, unknown, window),
        Limit("all", settings.SIGN_IN_FAILURES_ALL, refuses=False, window=window),
    ]
    if browser:
        limits.append(Limit(f"browser:{_digest(browser + account)}", most, refuses=True, window=window))
    attempt = _count(limits)
    if unknown and attempt.slow:
        _wait()
    return attempt


def spend(kind: str, who: str, most: int, window: float = HOUR) -> None:
    """Count one message or other act that is not a guess; raise TooManyGuessesError above `most` in the window."""
    _count([Limit(f"{kind}:{_digest(who)}", most, refuses=True, window=window)])


def _count(limits: list[Limit]) -> Attempt:
    moment = time.time()
    attempt = Attempt(limits, moment)
    by_key = {limit.key: limit for limit in limits}
    GuessCounter.objects.filter(touched__lt=moment - 24 * HOUR).delete()
    GuessCounter.objects.bulk_create(
        [GuessCounter(key=key, touched=moment) for key in sorted(by_key)], ignore_conflicts=True
    )
    reached = set()
    with transaction.atomic():
        for counter in _locked_rows(list(by_key)):
            limit = by_key[counter.key]
            if limit.refuses and counter.locked_until > moment:
                raise TooManyGuessesError(counter.locked_until - moment)
            recent = [then for then in counter.times if then > moment - limit.window]
            attempt.slow |= counter.key == "all" and len(recent) >= limit.most
            counter.times = [*recent, moment][-limit.most - 1 :]
            if len(counter.times) >= limit.most and counter.locked_until <= moment:
                counter.locked_until = moment + limit.window
                reached.add(counter.key)
            counter.touched = moment
            counter.save()
    attempt.locked = frozenset(reached)
    return attempt


def _locked_rows(keys: list[str]) -> list[GuessCounter]:
    """Return the counters with their rows locked, always in one order, so that no two attempts block each other."""
    return list(GuessCounter.objects.select_for_update(no_key=True).filter(key__in=keys).order_by("key"))


def _wait() -> None:
    if not _slow_answers.acquire(blocking=False):
        raise TooManyGuessesError(SLOW_SECONDS)
    try:
        time.sleep(SLOW_SECONDS)
    finally:
        _slow_answers.release()


def _digest(text: str) -> str:
    """Return the name in a fixed length, and unreadable: what was typed as a name may be a password."""
    return hashlib.sha256(text.encode()).hexdigest()
