"""Secrets, and the files that only the owner of the process may read: made on the first run, and checked."""

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path

MINIMUM_SECRET_LENGTH = 32
FEWEST_CHARACTERS = 10
"""How many different characters a secret must contain; 32 random hexadecimal digits contain 14 on average."""


def weakness(secret: str) -> str:
    """Return why a secret is easy to guess, as the end of a sentence that starts with its name; '' for a good one."""
    if len(secret) < MINIMUM_SECRET_LENGTH:
        return f"is shorter than {MINIMUM_SECRET_LENGTH} characters"
    if secret.startswith("django-insecure-"):
        return "is a sample from a generator, not a secret of this installation"
    repeats = any(secret[step:] == secret[:-step] for step in range(1, len(secret) // 2 + 1))
    if repeats or len(set(secret)) < FEWEST_CHARACTERS:
        return "repeats a few characters; make a random one"
    return ""


def read_or_create_secret(path: Path) -> str:
    """Return the secret stored in `path`, creating it if there is none; several processes may start at once.

    Raises OSError if the folder cannot be written and ValueError if the file is empty or truncated.
    """
    if not path.exists():
        make_private_folder(path.parent)
        descriptor = os.open(path.parent / ".secrets.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not path.exists():
                _write_private(path, secrets.token_urlsafe(48))
        finally:
            os.close(descriptor)
    value = path.read_text(encoding="ascii").strip()
    if len(value) < MINIMUM_SECRET_LENGTH:
        raise ValueError(f"{path.name} contains no secret")
    return value


def make_private_folder(path: Path) -> None:
    """Make a folder, with its parents, that only the owner may enter; an existing one is left unchanged."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def make_private_database(file: Path) -> None:
    """Remove others' permissions from an SQLite file and its companions, if they exist; only their owner can."""
    for path in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm"))):
        with suppress(FileNotFoundError, PermissionError):
            if path.stat().st_mode & 0o077:
                path.chmod(0o600)


def _write_private(path: Path, value: str) -> None:
    # The file is renamed when it is complete and on the disk, so that no reader ever sees half a secret.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(value + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
