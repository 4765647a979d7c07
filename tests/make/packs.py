"""Plain functions that make auditor's packs and open them, for tests."""

import datetime
import io
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
from django.core.files.storage import default_storage

from records.accounts.models import DefaultRole, User
from records.history.trail import now
from records.packs.actions import request_pack
from records.packs.models import Pack
from records.packs.pages import TITLES
from records.packs.tasks import make_pack
from records.sites.models import Site
from tests import make
from tests.make import pdfs

YEAR = datetime.timedelta(days=365)


def new_pack(site: Site, user: User | None = None, kinds: Sequence[str] = tuple(TITLES), **days: Any) -> Pack:
    """Ask for a pack of the last year as a Manager, or as somebody."""
    user = user or make.make_user(site=site, role=DefaultRole.MANAGER)
    span = {"first": now().date() - YEAR, "last": now().date(), **days}
    return request_pack(site, user, span["first"], span["last"], kinds, author=make.author_of(user))


def finished_pack(site: Site, user: User | None = None, kinds: Sequence[str] = tuple(TITLES), **days: Any) -> Pack:
    """Ask for a pack and let the worker make it."""
    pack = new_pack(site, user, kinds, **days)
    make_pack.call(str(pack.pk))
    pack.refresh_from_db()
    return pack


def unpack(pack: Pack, folder: Path) -> Path:
    """Unpack the stored file of a pack and return the folder."""
    with default_storage.open(pack.file.path, "rb") as file, zipfile.ZipFile(io.BytesIO(file.read())) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    return folder


def sheet(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of one of the pack's tables, each by the names of its columns."""
    book = openpyxl.load_workbook(folder / "records" / f"{name}.xlsx", read_only=True)
    header, *rows = book.worksheets[0].iter_rows(values_only=True)
    book.close()
    return [dict(zip(header, row, strict=False)) for row in rows]


def changes_in(folder: Path) -> str:
    """Return the text of the tables of changes in the pack."""
    books = [openpyxl.load_workbook(path, read_only=True) for path in sorted((folder / "changes").glob("*.xlsx"))]
    text = "\n".join(str(row) for book in books for row in book.worksheets[0].iter_rows(values_only=True))
    for book in books:
        book.close()
    return text


def papers_of(folder: Path, start: str) -> list[Path]:
    """Return the paths of the PDFs whose names begin so."""
    paths = sorted((folder / "records").glob(f"{start}*.pdf"))
    assert paths
    return paths


def text_of(folder: Path, start: str) -> str:
    """Return the text of the PDFs whose names begin so."""
    return "\n".join(text for path in papers_of(folder, start) for text in pdfs.texts_of(path.read_bytes()))


def check(folder: Path, *more: str) -> tuple[int, str]:
    """Run the pack's own check and return its exit code and what it says."""
    command = [sys.executable, str(folder / "check_pack.py"), str(folder), *more]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    return done.returncode, done.stdout + done.stderr


def files_in(folder: Path) -> set[str]:
    """Return the paths of all files of an unpacked pack."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
