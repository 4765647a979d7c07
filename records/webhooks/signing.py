"""The secrets of subscriptions, which sign messages as Standard Webhooks 1.0 says.

Signing needs the secret itself, so a digest of it would not be enough. It is stored encrypted, with a key that is
derived from SECRET_KEY, so that nobody can read it from the database or a backup alone.
"""

import base64
import datetime
import hmac
import re
import secrets

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

PREFIX = "whsec_"
BYTES = 32
_SECRETS = re.compile(r"whsec_[A-Za-z0-9+/=]+|v1,[A-Za-z0-9+/=]{20,}")


class UnreadableSecretError(Exception):
    """Raised for a secret that was encrypted under another SECRET_KEY."""


def new_secret() -> str:
    """Return a fresh secret of 256 bits, such as `whsec_MfKQ…`."""
    return PREFIX + base64.b64encode(secrets.token_bytes(BYTES)).decode()


def _boxes() -> list[Fernet]:
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return [Fernet(base64.urlsafe_b64encode(_derive(key))) for key in keys]


def _derive(key: str) -> bytes:
    return HKDF(SHA256(), 32, salt=None, info=b"larder webhook secrets").derive(key.encode())


def encrypt(secret: str) -> str:
    """Return a secret in the form in which it is stored."""
    return _boxes()[0].encrypt(secret.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Return a stored secret; raises UnreadableSecretError."""
    try:
        return MultiFernet(_boxes()).decrypt(encrypted.encode()).decode()
    except InvalidToken:
        raise UnreadableSecretError from None


def reencrypt(encrypted: str) -> str:
    """Return a stored secret encrypted under the newest SECRET_KEY; '' if it already is, or if it cannot be read."""
    try:
        _boxes()[0].decrypt(encrypted.encode())
    except InvalidToken:
        try:
            return encrypt(decrypt(encrypted))
        except UnreadableSecretError:
            return ""
    return ""


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message under one secret, such as `v1,g0hM…`."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    content = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{base64.b64encode(hmac.digest(key, content, 'sha256')).decode()}"


def headers_of(keys: list[str], message_id: str, at: datetime.datetime, body: bytes) -> dict[str, str]:
    """Return the headers with a message's id, the time of the attempt and one signature for each secret."""
    timestamp = int(at.timestamp())
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(key, message_id, timestamp, body) for key in keys),
    }


def without_secrets(text: str, keys: list[str]) -> str:
    """Return a receiver's answer in which a mark replaces each secret and signature that it repeats."""
    for key in keys:
        text = text.replace(key, "…").replace(key.removeprefix(PREFIX), "…")
    return _SECRETS.sub("…", text)
