"""The first second of a server: requests and signals while it loads, and endpoints that cannot be loaded."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.urls import URLResolver

from config import gunicorn, urls
from tests.faults.processes import free_port, wait_for

ROOT = Path(__file__).resolve().parents[2]
Server = Callable[..., tuple[str, "subprocess.Popen[bytes]"]]
PATHS = (
    "/employee/GetEmployeeList",
    "/complaint/GetComplaintList",
    "/document/GetDocumentList",
    "/materials",
    "/category/GetNatureOfEmploymentList",
    "/change/GetChangeList",
    "/scim/Users",
    "/docs/",
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Return the function that starts a server with one worker, and its address; `code` is Python it runs first."""
    running: list[subprocess.Popen[bytes]] = []

    def start(code: str = "") -> tuple[str, "subprocess.Popen[bytes]"]:
        port = free_port()
        configuration = tmp_path / "gunicorn.py"
        configuration.write_text(f"from config.gunicorn import *\n{code}")
        env = os.environ | {"PORT": str(port), "WEB_WORKERS": "1", "DATABASE_URL": "", "DATA_DIR": str(tmp_path)}
        command = [sys.executable, "-m", "gunicorn", "config.wsgi", "-c", str(configuration)]
        with (tmp_path / "log").open("wb") as log:
            running.append(subprocess.Popen(command, cwd=ROOT, env=env, stderr=log))
        return f"http://127.0.0.1:{port}", running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait()


def status_of(address: str) -> int:
    """Return the status of the answer to a GET, which is asked for again until the server listens."""
    start = time.monotonic()
    while True:
        try:
            with closing(urllib.request.urlopen(address, timeout=60)) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            assert time.monotonic() - start < 60
            time.sleep(0.01)


def test_requests_that_come_at_once_while_the_server_loads_are_all_answered_and_a_signal_ends_it(
    server: Server,
) -> None:
    address, process = server()
    assert status_of(f"{address}/healthz") == 200
    with ThreadPoolExecutor(2 * len(PATHS)) as threads:
        statuses = list(threads.map(lambda path: status_of(address + path), PATHS * 2))
    # Each endpoint refuses a caller without a key; the page is for everybody.
    assert statuses == [*[401] * (len(PATHS) - 1), 200] * 2
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def test_a_signal_while_the_endpoints_are_loaded_ends_the_server(server: Server) -> None:
    address, process = server()
    assert status_of(f"{address}/healthz") == 200
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


FAILING = """
former = post_worker_init

def post_worker_init(worker):
    from config import urls
    urls.load = lambda: 1 / 0
    former(worker)
"""


def test_a_server_whose_endpoints_cannot_be_loaded_ends(server: Server, tmp_path: Path) -> None:
    _, process = server(FAILING)
    wait_for(lambda: process.poll() is not None, 60)
    assert process.returncode == gunicorn.Arbiter.WORKER_BOOT_ERROR
    assert "The endpoints cannot be loaded." in (tmp_path / "log").read_text()


def test_every_endpoint_is_loaded_when_it_is_first_asked_for() -> None:
    names = {str(one.pattern) for one in urls.interfaces if isinstance(one, URLResolver)}
    assert {"employee/", "complaint/", "materials"} <= names
    interfaces: Any = [one for one in urls.interfaces if isinstance(one, URLResolver)]
    for one in interfaces:
        vars(one).pop("url_patterns", None)
    urls.load()
    assert all("url_patterns" in vars(one) for one in interfaces)
