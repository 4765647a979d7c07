"""The ZIP of a pack, written as a stream. Each file is hashed as it is added, and listed with size and SHA-256."""

import hashlib
import re
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from django.conf import settings

PIECE = 256 * 1024
LONGEST_NAME = 100
_UNSAFE = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]')
_RESERVED_NAME = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a pack: the part it belongs to, its path, what it is, its size in bytes and its SHA-256 (hex)."""

    part: str
    path: str
    about: str
    size: int
    sha256: str


@dataclass
class Bundle:
    """A ZIP that is being written into an unnamed temporary file, on the disk that holds the installation's data.

    Its content is never in memory as a whole. A worker that is killed leaves no file behind.
    """

    date_time: tuple[int, int, int, int, int, int]
    entries: list[Entry] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile("w+b", dir=settings.DATA_DIR)  # noqa: SIM115 (closed at the exit)
        self._zip = zipfile.ZipFile(self.file, "w", zipfile.ZIP_DEFLATED, compresslevel=3)

    def __enter__(self) -> "Bundle":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._zip.close()
        self.file.close()

    def add(self, part: str, path: str, about: str, content: object, *, as_is: bool = False) -> Entry:
        """Add one file, from bytes or from a readable object. Raises OSError if the disk is full.

        An `as_is` file, such as a picture, is not compressed again.
        """
        info = zipfile.ZipInfo(path, self.date_time)
        info.compress_type = zipfile.ZIP_STORED if as_is else zipfile.ZIP_DEFLATED
        info.external_attr = 0o644 << 16
        digest, size = hashlib.sha256(), 0
        with self._zip.open(info, "w", force_zip64=True) as out:
            for piece in _pieces(content):
                out.write(piece)
                digest.update(piece)
                size += len(piece)
        entry = Entry(part, path, about, size, digest.hexdigest())
        self.entries.append(entry)
        return entry

    def close(self) -> IO[bytes]:
        """Write the end of the ZIP and return the file, rewound."""
        self._zip.close()
        self.file.flush()
        self.file.seek(0)
        return self.file


def _pieces(content: Any) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    while piece := content.read(PIECE):
        yield piece


def safe_name(text: str) -> str:
    """Return a text as a readable file name that every system accepts, at most 100 characters long.

    A long name keeps its ending. Letters of all scripts stay. Invisible characters, characters that Windows refuses and
    those that would lead into another folder are removed.
    """
    text = unicodedata.normalize("NFC", text)
    text = "".join(letter for letter in text if unicodedata.category(letter) not in ("Cf", "Cs", "Co", "Cn"))
    text = " ".join(_UNSAFE.sub("_", text).split()).strip(" .")
    name, dot, extension = text.rpartition(".")
    if dot and len(extension) <= 10:
        text = f"{name[: LONGEST_NAME - len(extension) - 1].rstrip(' .')}.{extension}"
    text = text[:LONGEST_NAME].strip(" .") or "file"
    return f"_{text}" if _RESERVED_NAME.match(text) else text


def checksums(entries: Iterable[Entry]) -> bytes:
    """Return the lines that `sha256sum -c` reads."""
    return "".join(f"{entry.sha256}  {entry.path}\n" for entry in entries).encode()
