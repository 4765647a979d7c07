"""The archive of a backup: a tar file compressed with gzip, written and read as a stream.

Its members are, in this order: manifest.json (which version made it, and which secrets it needs), tables/…, files/…,
seal.json, and end.json with the counts and the SHA-256 of everything before it. An archive without a valid end.json
was cut short, and is refused before anything is restored.
"""

import gzip
import hashlib
import io
import os
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import orjson
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from records.history import seals

FORMAT = "larder-backup-1"
PIECE = 1024 * 1024


class ArchiveError(Exception):
    """Raised for an archive that cannot be restored; the text says why."""


class Writer:
    """Writes an archive under a temporary name in the same folder, and renames it when it is complete and on the disk.

    Two backups at the same time have different temporary names. Raises FileExistsError if another file got the name
    meanwhile, and OSError if the disk is full; the temporary file is removed in both cases.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.digest = hashlib.sha256()

    def __enter__(self) -> "Writer":
        descriptor, draft = tempfile.mkstemp(prefix=f".{self.path.name}.", suffix=".part", dir=self.path.parent)
        self.draft = Path(draft)
        self.file = open(descriptor, "wb")
        self.gzip = gzip.GzipFile(fileobj=self.file, mode="wb", compresslevel=5)
        self.tar = tarfile.open(fileobj=self.gzip, mode="w|")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.tar.close()
                self.gzip.close()
                self.file.flush()
                os.fsync(self.file.fileno())
                if self.path.exists():
                    raise FileExistsError(f"{self.path} already exists.")
                self.draft.rename(self.path)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Remove the temporary file and close everything; a full disk has no space for what is still buffered."""
        self.draft.unlink(missing_ok=True)
        for one in (self.tar, self.gzip, self.file):
            with suppress(OSError, ValueError):
                one.close()

    def add(self, name: str, content: IO[bytes] | bytes, size: int | None = None) -> None:
        """Add a member; the size of a stream must be known."""
        stream: IO[bytes] = io.BytesIO(content) if isinstance(content, bytes) else content
        info = tarfile.TarInfo(name)
        info.size = len(content) if isinstance(content, bytes) else (size or 0)
        info.mode = 0o600
        self.digest.update(f"{name}\n{info.size}\n".encode())
        self.tar.addfile(info, _Hashing(stream, self.digest))

    def end(self, facts: dict[str, Any]) -> None:
        """Add the last member."""
        self.add("end.json", orjson.dumps({**facts, "sha256": self.digest.hexdigest()}))


class _Hashing:
    """A stream whose bytes go into a digest as they are read."""

    def __init__(self, stream: IO[bytes], digest: Any) -> None:
        self.stream, self.digest = stream, digest

    def read(self, size: int = -1) -> bytes:
        """Read some bytes and add them to the digest."""
        piece = self.stream.read(size)
        self.digest.update(piece)
        return piece


@contextmanager
def reading(path: Path) -> Iterator[Iterator[tuple[str, IO[bytes], int]]]:
    """Yield an iterator over name, content and size of each member; raises ArchiveError if the archive is damaged."""
    try:
        with tarfile.open(path, mode="r|gz") as tar:
            yield ((info.name, tar.extractfile(info) or io.BytesIO(), info.size) for info in tar)
    except FileNotFoundError as error:
        raise ArchiveError(f"There is no file {path}.") from error
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArchiveError(f"{path} is damaged or was cut short; it is not restored.") from error


def check(path: Path) -> dict[str, Any]:
    """Read a whole archive, compare it with its own digest, and return its manifest; raises ArchiveError."""
    digest, before, contents, last = hashlib.sha256(), "", dict[str, bytes](), ""
    with reading(path) as members:
        for name, stream, size in members:
            before, last = digest.hexdigest(), name
            digest.update(f"{name}\n{size}\n".encode())
            while piece := stream.read(PIECE):
                digest.update(piece)
                if name in ("manifest.json", "end.json"):
                    contents[name] = contents.get(name, b"") + piece
    manifest = _facts(contents.get("manifest.json", b""))
    if manifest.get("format") != FORMAT:
        raise ArchiveError(f"{path} is not a backup of this form.")
    if last != "end.json":
        raise ArchiveError(f"{path} is damaged or was cut short; it is not restored.")
    end = _facts(contents.get("end.json", b""))
    if end.get("sha256") != before:
        raise ArchiveError(f"{path} was altered or damaged: its SHA-256 differs.")
    return {**manifest, "counts": end}


def _facts(content: bytes) -> dict[str, object]:
    """Return the object that a member of an archive holds, which is empty if the member is not one of a backup."""
    try:
        facts = orjson.loads(content)
    except orjson.JSONDecodeError:
        return {}
    return facts if isinstance(facts, dict) else {}


def secrets() -> dict[str, list[str]]:
    """Return short digests of the secrets that a backup needs but does not contain."""
    return {
        "SECRET_KEY": [_short(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)],
        "CREDENTIAL_PEPPERS": [_short(pepper) for pepper in settings.CREDENTIAL_PEPPERS],
        "SEAL_KEY_FILE": [seals.fingerprint()] if seals.fingerprint() else [],
    }


def _short(secret: str) -> str:
    return hashlib.sha256(b"larder-backup\n" + secret.encode()).hexdigest()[:16]


def missing_secrets(manifest: dict[str, Any]) -> list[str]:
    """Return a sentence for each secret that the archive needs and that is not set here, except former SECRET_KEYs."""
    own_secrets, sentences = secrets(), []
    for name, digests in manifest["secrets"].items():
        digests_needed = digests[:1] if name == "SECRET_KEY" else digests
        sentences += [
            f"{name} must contain the secret with the digest {digest}; it has {', '.join(own_secrets[name]) or 'none'}."
            for digest in digests_needed
            if digest not in own_secrets[name]
        ]
    return sentences


def migrations() -> list[str]:
    """Return the newest migrations of the code, by app."""
    return sorted(".".join(node) for node in MigrationLoader(connection, ignore_no_migrations=True).graph.leaf_nodes())
