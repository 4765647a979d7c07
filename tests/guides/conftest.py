"""Fixtures: the code of the guides, and a running server for it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from records.sites.models import Site
from tests.make.materials import MaterialApi, make_api
from tests.make.oauth import make_client

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
COMMAND = {"python": [sys.executable, "-I"], "bash": ["bash", "-euo", "pipefail"]}
"""`-I` keeps the installed packages of this project's path away: a guide needs nothing but Python."""


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in one language, in order."""
    texts = re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S)
    assert texts, f"{page} has no {language} block."
    return texts


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def caller(site: Site) -> MaterialApi:
    """Return a Manager at the site, with a key and a token."""
    return make_api(site)


@pytest.fixture
def run(caller: MaterialApi, live_server: Any, settings: Any, tmp_path: Path) -> Run:
    """Return what runs the blocks of a page against the server, with the variables that the page names.

    `changed` takes (old, new) texts of the code.
    """
    settings.BASE_URL = live_server.url
    client, client_secret = make_client(caller.holder.user)
    environment = {
        "BASE": live_server.url,
        "KEY": caller.holder.secret,
        "SITE": str(caller.site.pk),
        "CLIENT_ID": str(client.client_id),
        "CLIENT_SECRET": client_secret,
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
    }

    def run_page(page: str, language: str, *, status: int = 0, **variables: Any) -> "subprocess.CompletedProcess[str]":
        code = "\n".join(blocks(page, language))
        done = subprocess.run(
            [*COMMAND[language], "-c", code],
            env={**environment, **{name: str(value) for name, value in variables.items()}},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return run_page
