"""What the documents' tests share: a look into the storage of a test."""

from pathlib import Path


def stored(folder: Path) -> list[Path]:
    """Return every file in the folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
