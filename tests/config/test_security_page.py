"""docs/security.md: every requirement stands once, every test that it names is there, every gap has a reason."""

import re
from collections import Counter
from pathlib import Path

import pytest
from django.conf import global_settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.utils.module_loading import import_string

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|")) for line in TEXT.splitlines() if line.startswith("| ")
]
LEVEL_2 = (
    "1.1:2 1.2:9 1.3:11 1.4:3 1.5:2 2.1:3 2.2:3 2.3:4 2.4:1 3.2:2 3.3:4 3.4:6 3.5:5 3.7:2 4.1:3 4.2:1 4.3:2 4.4:4 "
    "5.1:1 5.2:3 5.3:2 5.4:3 6.1:3 6.2:12 6.3:4 6.4:4 6.5:5 6.6:3 6.8:4 7.1:3 7.2:4 7.3:2 7.4:5 7.5:2 7.6:2 8.1:2 "
    "8.2:3 8.3:1 8.4:1 9.1:3 9.2:4 10.1:2 10.2:2 10.3:4 10.4:11 10.5:5 10.6:2 10.7:3 11.1:2 11.2:3 11.3:3 11.4:4 "
    "11.5:1 11.6:1 12.1:3 12.2:2 12.3:4 13.1:1 13.2:5 13.3:2 13.4:5 14.1:2 14.2:4 14.3:3 15.1:3 15.2:3 15.3:7 16.1:1 "
    "16.2:5 16.3:4 16.4:3 16.5:3 17.1:1 17.2:4 17.3:2"
)
"""The sections of the standard at levels 1 and 2, each with the number of its requirements."""
NUMBERS = [
    f"{section}.{number}"
    for section, most in (part.split(":") for part in LEVEL_2.split())
    for number in range(1, int(most) + 1)
]
REQUIREMENTS = re.compile(r"(\d+\.\d+\.\d+)(?: to (\d+\.\d+\.\d+))?")
"""A row may name several requirements, such as "4.3.1 and 4.3.2 GraphQL, 17.1.1 to 17.3.2 WebRTC"."""


def test_every_requirement_of_level_2_stands_once() -> None:
    assert len(NUMBERS) == 253
    ranges = [ends for row in ROWS if row[0][0].isdecimal() for ends in REQUIREMENTS.findall(row[0])]
    counts = Counter(
        number for first, last in ranges for number in NUMBERS[NUMBERS.index(first) : NUMBERS.index(last or first) + 1]
    )
    assert set(counts) == set(NUMBERS)
    assert not [number for number, times in counts.items() if times > 1]


def test_every_risk_of_the_api_top_10_stands_once() -> None:
    risks = [row[0].split()[0] for row in ROWS if row[0].startswith("API")]
    assert risks == [f"API{number}" for number in range(1, 11)]


TESTS = sorted(set(re.findall(r"`(tests/[^`]+)`", TEXT)))


@pytest.mark.parametrize("test", TESTS)
def test_a_test_that_the_page_names_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    assert name, "A row names the test that proves it, not only its file."
    assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_what_is_not_met_has_a_reason() -> None:
    gaps = [row for row in ROWS if "not met" in row[1].casefold()]
    assert gaps
    for requirement, answer, *_ in gaps:
        reason = answer.casefold().partition("not met")[2]
        assert len(reason.split()) >= 12, requirement


def test_passwords_are_hashed_as_the_page_says() -> None:
    assert "PBKDF2-SHA256 with a million rounds" in TEXT
    # The suite itself hashes otherwise, for its speed. The settings leave the choice to Django.
    assert "PASSWORD_HASHERS" not in (ROOT / "config" / "settings.py").read_text(encoding="utf-8")
    assert import_string(global_settings.PASSWORD_HASHERS[0]) is PBKDF2PasswordHasher
    assert PBKDF2PasswordHasher.iterations >= 1_000_000
