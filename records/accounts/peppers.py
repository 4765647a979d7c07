"""Secrets and their digests under a pepper of their own (DECISIONS 2.2)."""

import hmac
import secrets

from django.conf import settings


def new_secret(prefix: str) -> str:
    """Return a fresh secret of 256 bits that starts with prefix, so that a leaked one can be recognised."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def digest(secret: str) -> str:
    """Return the digest (hex) to store, under the newest pepper."""
    return _under(settings.CREDENTIAL_PEPPERS[0], secret)


def digests(secret: str) -> list[str]:
    """Return the digests to look for: under the newest pepper and every older one that still verifies."""
    return [_under(pepper, secret) for pepper in settings.CREDENTIAL_PEPPERS]


def _under(pepper: str, secret: str) -> str:
    return hmac.digest(pepper.encode(), secret.encode("utf-8", "surrogatepass"), "sha256").hex()
