"""What make gives to the programs that it starts."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent.parent
OF_AN_INSTALLATION = {
    "PORT": "9",
    "BASE_URL": "https://larder.example.com",
    "DATABASE_URL": "postgres://nobody@127.0.0.1:9/none",
    "ENVIRONMENT": "production",
    "CACHE_URL": "redis://127.0.0.1:9/0",
}


def output_of(*arguments: str) -> str:
    """Return what make prints when the environment holds the settings of an installation."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed.")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = [make, "--silent", "-C", str(TOP), *arguments]
    done = subprocess.run(command, env={**variables, **OF_AN_INSTALLATION}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_tests_and_checks_know_nothing_of_the_settings_of_an_installation() -> None:
    code = "from config import settings as s; print(s.BASE_URL, s.PRODUCTION, s.DATABASES['default']['ENGINE'])"
    output = output_of(f'--eval=told: ; @$(APART) $(PY) -c "{code}"', "told")
    assert output.split() == ["http://127.0.0.1:8000", "False", "config.sqlite"]


def test_every_run_of_the_suite_is_kept_apart_from_an_installation() -> None:
    apart = output_of("--eval=told: ; @echo '$(APART)'", "told").strip()
    commands = output_of("--dry-run", "test", "faults-sqlite", "faults-connections")
    runs = [line for line in commands.splitlines() if " -m pytest" in line]
    assert len(runs) == 5
    for run in runs:
        assert run.strip().startswith(apart), run
