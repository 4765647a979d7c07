"""Seals: the heads of all chains, signed with a key that the database does not hold (DECISIONS 10.5).

Someone who may write to the database can rewrite a chain and compute its hashes again, but cannot forge a seal. A chain
that was cut or rewritten no longer has the sealed hash at the sealed number.
"""

import base64
import contextlib
import hashlib
import logging
import os
import uuid
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TypedDict

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.apps import apps
from django.conf import settings

from records.history.models import INSTALLATION, ChainHead, Change
from records.history.trail import now
from records.history.verification import Report

logger = logging.getLogger("larder.history")

FORMAT = "larder-seal-1"


class SealError(Exception):
    """Raised when a seal or a key cannot be used: unreadable, of another form, or signed by another key."""


class Head(TypedDict):
    """The head of a chain in a seal: the chain's Id and site, and the number and hash of its newest change."""

    chain: str
    site: str
    number: int
    hash: str


class Seal(TypedDict):
    """A seal as it is written: `sealed` is a time, `key` the public key and `signature` in base64."""

    format: str
    sealed: str
    heads: list[Head]
    key: str
    signature: str


class SealContent(TypedDict):
    """The content of a checked seal: the time as text, and the chain, number and hash of each head."""

    sealed: str
    heads: list[tuple[str, int, str]]


def seal() -> Seal:
    """Return the present heads of all chains, signed; makes the key if there is none yet."""
    heads: list[Head] = [
        {"chain": str(head.chain), "site": site_name(head.chain), "number": head.number, "hash": head.hash}
        for head in ChainHead.objects.order_by("chain")
    ]
    return _sign(heads)


def seal_of(chain: uuid.UUID, number: int, digest: str) -> Seal:
    """Return a seal of one chain: it says that the change with this number has this hash."""
    return _sign([{"chain": str(chain), "site": site_name(chain), "number": number, "hash": digest}])


def bytes_to_sign(seal: Mapping[str, object]) -> bytes:
    """Return the bytes that a seal's signature covers: everything but the signature, as JSON with sorted keys."""
    content = {name: value for name, value in seal.items() if name != "signature"}
    return orjson.dumps(content, option=orjson.OPT_SORT_KEYS)


def _sign(heads: list[Head]) -> Seal:
    private = _private_key()
    content: Seal = {
        "format": FORMAT,
        "sealed": now().isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "heads": heads,
        "key": _raw(private.public_key()),
        "signature": "",
    }
    return {**content, "signature": base64.b64encode(private.sign(bytes_to_sign(content))).decode()}


def write_seal(path: Path) -> Seal:
    """Write a seal to a file, completely or not at all, and return it.

    A seal that is there already and cannot be used, such as one by a former key, is evidence: it is kept under another
    name, which sorts before the file's own.
    """
    content = seal()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_file():
        try:
            read_seal(path)
        except SealError:
            path.rename(path.with_suffix(f".{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}{path.suffix}"))
    _write(path, orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n", 0o644)
    return content


def read_seal(path: Path, *, public_key: Path | None = None) -> SealContent:
    """Return a seal after checking its signature by the key in the named file, or else by the installation's own key.

    Raises SealError.
    """
    try:
        content = orjson.loads(path.read_bytes())
        signature = base64.b64decode(content["signature"])
        if content["format"] != FORMAT:
            raise SealError(f"{path} is not a seal of this form.")
        datetime.fromisoformat(content["sealed"])
        heads = [(str(head["chain"]), int(head["number"]), str(head["hash"])) for head in content["heads"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SealError(f"{path} cannot be read as a seal.") from error
    key = _public_key(public_key)
    if content["key"] != _raw(key):
        raise SealError(f"{path} was signed with another key.")
    try:
        key.verify(signature, bytes_to_sign(content))
    except InvalidSignature as error:
        raise SealError(f"{path} was altered after it was signed.") from error
    return {"sealed": content["sealed"], "heads": heads}


def compare(report: Report, seal: SealContent) -> None:
    """Add to the report which changes are missing or were rewritten since the seal was made."""
    for chain, number, sealed_hash in seal["heads"]:
        if not number:
            continue
        key = uuid.UUID(chain)
        stored_hash = Change.objects.filter(chain=key, number=number).values_list("hash", flat=True).first()
        if stored_hash is None:
            report.add(key, number, f"change {number}, which was sealed on {seal['sealed']}, is missing")
        elif stored_hash != sealed_hash:
            report.add(key, number, f"the changes up to {number} were rewritten since the seal of {seal['sealed']}")


def site_name(chain: uuid.UUID) -> str:
    """Return the name of the site to which the chain belongs."""
    if chain == INSTALLATION:
        return "the installation"
    site = apps.get_model("sites.Site")._base_manager.filter(pk=chain).first()
    return str(site) if site is not None else f"an unknown site ({chain})"


def key_path() -> Path:
    """Return the path of the private key."""
    return Path(settings.SEAL_KEY_FILE)


def key_is_too_near() -> bool:
    """Return whether the private key is in DATA_DIR in production, where anybody who can alter the data finds it."""
    return settings.PRODUCTION and key_path().resolve().is_relative_to(Path(settings.DATA_DIR).resolve())


def fingerprint() -> str:
    """Return the public key's short name: the first 16 hexadecimal digits of its SHA-256; empty without a key."""
    if not key_path().exists():
        return ""
    return hashlib.sha256(_raw(_private_key().public_key()).encode()).hexdigest()[:16]


def _private_key() -> Ed25519PrivateKey:
    path = key_path()
    if not path.exists():
        if key_is_too_near():
            logger.warning("A key for the seals of the history was made in DATA_DIR. Set SEAL_KEY_FILE.")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new_key = Ed25519PrivateKey.generate()
        pem = new_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        _write(path, pem, 0o600, keep=True)
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise SealError(f"{path} cannot be read as a private key.") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SealError(f"{path} is not an Ed25519 key.")
    return key


def public_pem() -> bytes:
    """Return the public key as PEM, for everybody who verifies seals elsewhere."""
    return (
        _private_key()
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def _public_key(path: Path | None) -> Ed25519PublicKey:
    if path is None:
        if not key_path().exists():
            raise SealError("This installation does not have the key. Name the public key with --key.")
        return _private_key().public_key()
    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except (OSError, ValueError) as error:
        raise SealError(f"{path} cannot be read as a public key.") from error
    if not isinstance(key, Ed25519PublicKey):
        raise SealError(f"{path} is not an Ed25519 key.")
    return key


def _raw(key: Ed25519PublicKey) -> str:
    return base64.b64encode(key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)).decode()


def _write(path: Path, content: bytes, mode: int, *, keep: bool = False) -> None:
    """Write a file under another name and rename it when it is on the disk; `keep` replaces no existing file."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not keep:
            draft.rename(path)
        else:
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
