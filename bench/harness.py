"""Servers, load and medians for the measurements."""

import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SECONDS = float(os.environ.get("BENCH_SECONDS", "4"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(module: str, **environment: str) -> Iterator[str]:
    """Serve a WSGI module under the product's own gunicorn configuration and yield its address."""
    port = free_port()
    env = os.environ | {"PORT": str(port), "RATE_LIMIT": "100000000", "LOG_LEVEL": "warning", **environment}
    command = [sys.executable, "-m", "gunicorn", module, "-c", "config/gunicorn.py"]
    server = subprocess.Popen(command, cwd=ROOT, env=env, start_new_session=True, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        _await(port)
        yield base
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(20)


def _await(port: int) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("The server did not start.")


def wrk(url: str, *, connections: int = 8, seconds: float = SECONDS, script: str = "", **headers: str) -> float:
    """Load a URL of the loopback for a few seconds and return the requests a second; fails on any refusal."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s"]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as lua:
        if script:
            lua.write(script)
            lua.flush()
            command += ["-s", lua.name]
        for name, value in headers.items():
            command += ["-H", f"{name.replace('_', '-')}: {value}"]
        found = subprocess.run([*command, url], capture_output=True, text=True, check=True, timeout=seconds + 60)
    assert "Non-2xx" not in found.stdout, found.stdout
    match = re.search(r"Requests/sec:\s+([\d.]+)", found.stdout)
    assert match, found.stdout
    return float(match[1])


def get(url: str, **headers: str) -> tuple[int, bytes]:
    """Fetch a URL once."""
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status, answer.read()


def prepare_demo() -> dict[str, Any]:
    """Migrate and fill the measured database, and return the demo's credentials."""
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "migrate", "-v0"], cwd=ROOT, check=True)
    printed = subprocess.run([*manage, "demo", "--json"], cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(printed.stdout)
    return found


def compare(name: str, rounds: list[tuple[float, float]]) -> float:
    """Print both medians, their ratio and the spread, and return the ratio."""
    ours, floor = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratios = sorted(product / bare for product, bare in rounds)
    ratio = statistics.median(ratios)
    print(
        f"{name}: {ours:.0f}/s, floor {floor:.0f}/s, ratio {ratio:.2f} "
        f"(rounds {', '.join(f'{value:.2f}' for value in ratios)})"
    )
    return ratio
