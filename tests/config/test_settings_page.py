"""The page of the settings is made from the code, and says what the code does."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from config import env
from deploy.site.settings_page import explanations, settings_page, settings_read

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")


class RecordingVariables(dict[str, str]):
    """Variables that remember which of them were asked for."""

    def __init__(self, variables: dict[str, str]) -> None:
        super().__init__(variables)
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        """Return a variable and remember its name."""
        self.names.add(name)
        return super().get(name, default)


@pytest.fixture
def variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordingVariables:
    """Return the variables that the settings and the server ask for, with a provider so that its names are read too."""
    provider = {"OIDC_ISSUER": "https://login.example.com", "OIDC_CLIENT_ID": "one", "OIDC_CLIENT_SECRET": "two"}
    variables = RecordingVariables({"DATA_DIR": str(tmp_path), **provider})
    monkeypatch.setattr(env, "load", lambda _: env.Environment(variables))
    for module in ("settings", "gunicorn"):
        runpy.run_path(str(ROOT / "config" / f"{module}.py"))
    return variables


def test_the_page_has_a_row_with_a_meaning_for_each_variable_that_the_code_asks_for(
    variables: RecordingVariables,
) -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", settings_page(ROOT), re.MULTILINE))
    assert set(rows) == variables.names - {"STATIC_COLLECTED"}
    assert [name for name, meaning in rows.items() if len(meaning.strip()) < 20] == []


def test_each_default_of_a_number_or_a_switch_can_be_given_as_it_stands() -> None:
    defaults = {
        name: setting.default
        for name, setting in settings_read(ROOT).items()
        if re.fullmatch(r"\d+|on|off", setting.default)
    }
    assert {"RATE_LIMIT", "SITE_ATTACHMENTS_LIMIT", "PASSWORD_SIGN_IN", "WEB_WORKERS"} <= defaults.keys()
    environment = env.Environment(defaults)
    for name, value in defaults.items():
        kind = settings_read(ROOT)[name].kind
        if kind == "on or off":
            assert environment.switch(name, default=value != "on") is (value == "on")
    assert environment.faults == []
    examples = {name: value for name, (value, _) in explanations(EXAMPLE).items() if name in defaults}
    # The port of the metrics is off unless it is named.
    different = {name for name, value in examples.items() if value != defaults[name]}
    assert different == {"METRICS_PORT"}


def test_the_settings_take_each_example_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "SECRET_KEY": "k7Jd0aQmZ2xW9vB4nR6tY1uP3sE5gH8j",
        "CREDENTIAL_PEPPERS": "q8Lk3mNz7bVx2cTr5wEy9uIo1pAs4dFg",
    }
    examples = {name: value for name, (value, _) in explanations(EXAMPLE).items() if value}
    variables = {**examples, **secrets, "DATA_DIR": str(tmp_path), "OIDC_CLIENT_ID": "one", "OIDC_CLIENT_SECRET": "two"}
    monkeypatch.setattr(env, "load", lambda _: env.Environment(variables))
    found = runpy.run_path(str(ROOT / "config" / "settings.py"))
    assert found["SITE_ATTACHMENTS_LIMIT"] == 50 * 1024**3
    assert found["DATABASES"]["replica"]["HOST"] == "replica.example.com"


@pytest.mark.parametrize(
    ("name", "kind", "default"),
    [
        ("RATE_LIMIT", "whole number, 1 or more", "300"),
        ("SITE_ATTACHMENTS_LIMIT", "whole number from 1 to 1125899906842624", "53687091200"),
        ("HSTS_SUBDOMAINS", "on or off", "on in production, otherwise off"),
        ("SECOND_FACTOR", "one of `optional`, `administrators`, `everybody`", "optional"),
        ("SLOW_STATEMENT_MS", "whole number, 0 or more", "500 in production, otherwise 0"),
        ("SECRET_KEY", "secret", ""),
        ("DATABASE_URL", "address", ""),
    ],
)
def test_a_row_says_what_a_setting_holds_and_its_default(name: str, kind: str, default: str) -> None:
    setting = settings_read(ROOT)[name]
    assert (setting.kind, setting.default) == (kind, default)
