"""An installation from `requirements.lock` alone starts: nothing loads a package of the extras or of the developers."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"^([\w.-]+)==", re.MULTILINE)
SCRIPT = """
import importlib.metadata, sys
absent = set(sys.argv[1].split())
for module, distributions in importlib.metadata.packages_distributions().items():
    if absent.issuperset(name.lower().replace("_", "-") for name in distributions):
        sys.modules[module] = None
import django
django.setup()
from django.core.cache import caches
from django.core.management import call_command
from config import urls
urls.load()
call_command("check")
print([type(caches[alias]).__name__ for alias in caches])
"""


def packages(lock: str) -> set[str]:
    return {name.lower().replace("_", "-") for name in NAME.findall((ROOT / lock).read_text())}


def test_an_installation_without_optional_packages_starts(tmp_path: Path) -> None:
    absent = packages("requirements-dev.lock") - packages("requirements.lock")
    assert {"redis", "django-storages", "pytest"} <= absent
    env = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": "", "DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-c", SCRIPT, " ".join(absent)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "MemoryCache" in done.stdout
