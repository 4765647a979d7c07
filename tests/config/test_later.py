"""A module that is loaded when something is first taken from it."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from config.later import Later, load_later


@pytest.fixture
def slow_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "seldom_used.py").write_text("import time\ntime.sleep(0.2)\nVALUE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "seldom_used", raising=False)
    return "seldom_used"


def imported(name: str) -> ModuleType:
    module: ModuleType = __import__(name)
    return module


def test_it_is_loaded_once_by_whoever_needs_it_first(slow_module: str) -> None:
    load_later(slow_module)
    held = imported(slow_module)
    assert isinstance(held, Later)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: held.VALUE, range(4))) == [1] * 4
    assert not isinstance(imported(slow_module), Later)
    assert held.VALUE == 1
    with pytest.raises(AttributeError):
        _ = held.MISSING


def test_a_module_that_is_loaded_already_stays(slow_module: str) -> None:
    real = imported(slow_module)
    load_later(slow_module)
    assert imported(slow_module) is real
