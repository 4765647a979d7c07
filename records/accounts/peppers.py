"""Secrets, and their digests with a pepper (DECISIONS 2.2)."""

import hmac
import secrets

from django.conf import settings


def new_secret(prefix: str) -> str:
    """Return a new secret of 256 bits that starts with the prefix, so that a leaked secret can be recognised."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def digest(secret: str) -> str:
    """Return the digest (hex) to store, computed with the newest pepper."""
    return _digest_with(settings.CREDENTIAL_PEPPERS[0], secret)


def digests(secret: str) -> list[str]:
    """Return the digests to look for: with the newest pepper and with every older one that is still accepted."""
    return [_digest_with(pepper, secret) for pepper in settings.CREDENTIAL_PEPPERS]


def _digest_with(pepper: str, secret: str) -> str:
    # `hmac.digest` is not faster, and lets another thread go on before this one.
    return hmac.new(pepper.encode(), secret.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
