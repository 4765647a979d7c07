"""`make audit`: what it says of the locks, and that a check that did not happen is not a clean one."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from deploy.audit import CLEAN, NOT_CHECKED, VULNERABLE, audit

SOUND = {"name": "django", "version": "5.2", "vulns": []}
FAULTY = {"name": "pillow", "version": "1.0", "vulns": [{"id": "CVE-2026-1", "fix_versions": ["1.1"]}]}
UNCHECKED = {"name": "own", "skip_reason": "not in the data"}


def tool(folder: Path, output: str) -> str:
    """Return a program that answers as pip-audit does."""
    program = folder / "pip-audit"
    program.write_text(f"#!{sys.executable}\nprint({output!r})\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("packages", "code", "sentence"),
    [
        ([SOUND], CLEAN, "1 packages checked, 0 vulnerable."),
        ([SOUND, FAULTY], VULNERABLE, "pillow 1.0 has CVE-2026-1; repaired in 1.1."),
        ([SOUND, UNCHECKED], NOT_CHECKED, "own was not checked: not in the data"),
        ([FAULTY, UNCHECKED], VULNERABLE, "1 packages checked, 1 vulnerable."),
        ([], NOT_CHECKED, "NOTHING WAS CHECKED"),
    ],
)
def test_each_package_is_judged_by_its_name(
    tmp_path: Path, capsys: Any, packages: list[Any], code: int, sentence: str
) -> None:
    program = tool(tmp_path, json.dumps({"dependencies": packages}))
    assert audit(program, [Path("requirements.lock")]) == code
    assert f"requirements.lock: {sentence}" in capsys.readouterr().out


def test_data_that_cannot_be_reached_is_no_clean_answer(tmp_path: Path, capsys: Any) -> None:
    assert audit(tool(tmp_path, "ERROR: connection refused"), [Path("a.lock"), Path("b.lock")]) == NOT_CHECKED
    assert capsys.readouterr().out.count("NOTHING WAS CHECKED") == 2


def test_of_a_traceback_only_what_was_wrong_is_printed(tmp_path: Path, capsys: Any) -> None:
    program = tmp_path / "pip-audit"
    program.write_text(f"#!{sys.executable}\nraise ConnectionError('No route to host')\n", encoding="utf-8")
    program.chmod(0o755)
    assert audit(str(program), [Path("a.lock")]) == NOT_CHECKED
    assert capsys.readouterr().err == "ConnectionError: No route to host\n"
