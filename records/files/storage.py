"""Where files are stored: once, under a path of our own, never overwritten, and served only if they are undamaged."""

import hashlib
import io
import logging
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, cast

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import DatabaseError, InterfaceError

from records.files.content import PIECE, Incoming
from records.files.models import FileRecord
from records.history.english import stored_text
from records.history.trail import is_rehearsal, now
from records.operations.outages import is_refusal

logger = logging.getLogger("larder.files")
ROOT = "documents"
"""The folder of every stored file; it got its name when only documents had files."""
SETTLED_SECONDS = 2.0
"""The age of a file's last change from which a later change is certain to show in its timestamps."""
COMPARED_EVERY = 3600
"""The seconds for which the comparison of an unchanged file is valid, because a disk can alter a file silently."""
MOST_REMEMBERED = 10_000
_undamaged: dict[tuple[str, int, str], tuple[int, ...]] = {}
"""The files that this process has found undamaged, by path, size and SHA-256; the value is the file's state then."""


class StorageUnavailableError(Exception):
    """Raised when the storage cannot be read or written right now."""


class FileDamagedError(Exception):
    """Raised for a stored file that is missing or was altered; the text says which."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in the storage that no row refers to yet."""

    path: str
    size: int
    sha256: str


class _Reader(io.RawIOBase):
    """A file over pieces that can only be read forwards, as the storages do."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def store(content: Incoming) -> StoredFile:
    """Write the file to a new path and make sure that it is on the disk; raises StorageUnavailableError."""
    path = f"{ROOT}/{now():%Y/%m}/{uuid.uuid4().hex}"
    try:
        name = default_storage.save(path, File(cast(IO[Any], _Reader(content.pieces())), name=path))
        if isinstance(default_storage, FileSystemStorage):
            _settle(default_storage.path(name))
    except Exception as error:
        logger.exception("A file could not be stored.")
        discard(path)
        raise StorageUnavailableError from error
    return StoredFile(name, content.size, content.sha256)


def _settle(path: str) -> None:
    """Flush the file and its folder's entry to the disk, so that a power cut loses no confirmed file."""
    for name, flags in ((path, os.O_RDONLY), (os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)):
        descriptor = os.open(name, flags)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def storing(content: Incoming) -> Iterator[StoredFile]:
    """Store a file and yield it, so that the block can store a row that refers to it.

    If the block fails, or is a dry run, the file is removed. It stays if the connection to the database broke,
    because the commit may have succeeded; `manage.py sweep_files` removes it if no row refers to it.
    """
    stored = store(content)
    try:
        yield stored
    except Exception as error:
        if not isinstance(error, DatabaseError | InterfaceError) or is_refusal(error):
            discard(stored.path)
        raise
    if is_rehearsal():
        discard(stored.path)


def discard(path: str) -> None:
    """Remove a stored file that no row points at; one that cannot be removed is left to `manage.py sweep_files`."""
    try:
        default_storage.delete(path)
    except Exception:
        logger.warning("A file that nothing points at could not be removed.", exc_info=True)


def open_whole(row: FileRecord) -> File[bytes]:
    """Open a row's file at its start, after comparing it once with its size and SHA-256.

    Raises FileDamagedError for a missing or altered file, StorageUnavailableError if the storage does not answer.
    """
    file = _open(row)
    _compare(row, file)
    return file


def open_served(row: FileRecord) -> File[bytes]:
    """Open a row's file as `open_whole` does; a file of the disk that has not changed since then is not read again.

    A request therefore costs the same for a large file as for a small one, even if nobody reads the answer (DECISIONS
    10.1).
    """
    file, key = _open(row), (row.path, row.file_size, row.file_hash)
    state = _state_of(file)
    if state is None or _undamaged.get(key) != state:
        _compare(row, file)
        if state is not None:
            if len(_undamaged) >= MOST_REMEMBERED:
                _undamaged.clear()
            _undamaged[key] = state
    return file


def _state_of(file: File[bytes]) -> tuple[int, ...] | None:
    """Return a value that differs once the open file changes, and every hour; None if a change might go unnoticed."""
    if not isinstance(default_storage, FileSystemStorage):
        return None
    stat, now_ = os.fstat(file.fileno()), time.time()
    if now_ - stat.st_ctime < SETTLED_SECONDS:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, int(now_ // COMPARED_EVERY)


def _open(row: FileRecord) -> File[bytes]:
    try:
        return default_storage.open(row.path, "rb")
    except FileNotFoundError as error:
        raise _damage_error(row, "missing from the storage") from error
    except Exception as error:
        logger.exception("The storage cannot be read.")
        raise StorageUnavailableError from error


def _compare(row: FileRecord, file: File[bytes]) -> None:
    """Compare the file with its size and SHA-256, and rewind it; if it differs, close it and raise FileDamagedError."""
    try:
        digest, size = hashlib.sha256(), 0
        while piece := file.read(PIECE):
            digest.update(piece)
            size += len(piece)
        file.seek(0)
    except FileNotFoundError as error:
        file.close()
        raise _damage_error(row, "missing from the storage") from error
    except Exception as error:
        file.close()
        logger.exception("The storage cannot be read.")
        raise StorageUnavailableError from error
    if size != row.file_size or digest.hexdigest() != row.file_hash:
        file.close()
        raise _damage_error(row, "not what was stored: its SHA-256 differs")


def _damage_error(row: FileRecord, problem: str) -> FileDamagedError:
    logger.error("The file of %s %s is %s.", row._meta.verbose_name, row.pk, problem)
    return FileDamagedError(f"The file of {stored_text(row)} is {problem}. It is not served; restore it from a backup.")


def check(row: FileRecord) -> None:
    """Compare a row's file with its SHA-256; raises FileDamagedError or StorageUnavailableError."""
    open_whole(row).close()


def walk(folder: str = ROOT) -> Iterator[str]:
    """Yield the path of every stored file, in no order."""
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    for name in files:
        if name:
            yield f"{folder}/{name}"
    for name in folders:
        yield from walk(f"{folder}/{name}")
