"""The throw-away PostgreSQL stops and cleans up however its command ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.db import connection

from tests import postgres

pytestmark = pytest.mark.skipif(connection.vendor != "sqlite", reason="The run itself is such a command.")

QUERY = "select upper('é'), current_setting('fsync'), current_setting('data_directory')"
SCRIPT = f"""
import json, os, psycopg
print(json.dumps(psycopg.connect(os.environ['DATABASE_URL']).execute({QUERY!r}).fetchone()))
raise SystemExit(7)
"""


@pytest.mark.parametrize(("options", "fsync"), [([], "off"), (["--durable"], "on")])
def test_the_command_gets_a_database_and_its_exit_code_comes_back(options, fsync):
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run([sys.executable, "-m", "tests.postgres", *options, *command], capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
    letter, setting, folder = json.loads(done.stdout)
    assert (letter, setting) == ("É", fsync)
    assert not Path(folder).parent.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_killed_leaves_no_server_behind(number):
    command = [sys.executable, "-c", "import os, time; print(os.environ['DATABASE_URL'], flush=True); time.sleep(20)"]
    with subprocess.Popen([sys.executable, "-m", "tests.postgres", *command], stdout=subprocess.PIPE, text=True) as run:
        folder = Path(run.stdout.readline().strip().partition("host=")[2])
        assert folder.exists()
        run.send_signal(number)
        deadline = time.monotonic() + 15
        while folder.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not folder.exists()
        # A killed run cannot stop its command; that one ends by itself.


def test_the_newest_server_of_the_wheel_is_used():
    binaries = postgres.find_binaries()
    assert os.access(binaries / "initdb", os.X_OK)
    assert postgres.major_version(binaries) >= 16
