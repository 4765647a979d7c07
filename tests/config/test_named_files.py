"""The pages of the documentation name only files and tests that are there, and settings with their defaults."""

import re
from pathlib import Path

import pytest

from deploy.site.settings_page import settings_read

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for page in (ROOT / "README.md", ROOT / "tests" / "README.md", *(ROOT / "docs").rglob("*.md"))
)
BELOW = ("", "records/", "records/backoffice/", "tests/", "tests/faults/")
"""The folders in which a page may leave out the beginning of a path."""


def file_at(name: str) -> Path | None:
    """Return the file that a page names, or None."""
    return next((ROOT / folder / name for folder in BELOW if (ROOT / folder / name).exists()), None)


@pytest.mark.parametrize("page", PAGES)
def test_each_file_and_test_that_a_page_names_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = set(re.findall(r"`(\w[\w.-]*/(?:[\w.-]+/)*[\w-]+\.(?:py|md|sh|yaml|toml|txt|json|conf))`", text))
    assert [path for path in sorted(paths) if file_at(path) is None] == []
    for file, name in re.findall(r"`([\w/]*test_\w+\.py)::(test_\w+)`", text):
        place = file_at(file)
        assert place is not None, file
        assert f"def {name}(" in place.read_text(encoding="utf-8"), name


def test_the_defaults_of_settings_are_those_of_the_code() -> None:
    read = settings_read(ROOT)
    text = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    defaults = {(name, value) for name, value in re.findall(r"`([A-Z]+(?:_[A-Z]+)+)` \((\d+)\b", text) if name in read}
    assert len(defaults) >= 4
    assert [one for one in sorted(defaults) if one[1] != read[one[0]].default] == []
