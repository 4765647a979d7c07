"""Fixtures of the documents' tests: a storage of their own."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def files(settings: Any, tmp_path: Path) -> Path:
    """Keep the test's files in a folder of its own, and return it."""
    folder = tmp_path / "files"
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": str(folder)}
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options},
    }
    return folder


def stored(folder: Path) -> list[Path]:
    """Return every file in the folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
