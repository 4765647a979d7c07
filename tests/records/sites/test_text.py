"""What text may hold, and what it costs to find out."""

import time
import unicodedata

import pytest
from django.core.exceptions import ValidationError

from records.sites.text import MARKS, normalise


def test_no_text_is_slow_to_read() -> None:
    started = time.process_time()
    with pytest.raises(ValidationError, match="combining marks in a row"):
        normalise("a" + "\u0316\u0301" * 500_000)
    normalise(("a" + "\u0316\u0301" * (MARKS // 2)) * 200)
    assert time.process_time() - started < 2


def test_letters_may_carry_many_marks() -> None:
    stacked = "a" + "\u0301\u0316" * (MARKS // 2)
    assert normalise(stacked) == unicodedata.normalize("NFC", stacked)
    with pytest.raises(ValidationError):
        normalise(stacked + "\u0301")
