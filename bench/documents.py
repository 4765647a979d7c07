"""Uploads and downloads of 1, 10 and 25 MiB through one worker: time, and how far each raises its peak memory."""

import base64
import hashlib
import json
import os
import statistics
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

from bench import harness

MIB = 1024 * 1024
SIZES = (1, 10, 25)
ALLOWED = 2.5
"""How often the file's size an upload may raise the worker's peak memory."""


def workers() -> list[int]:
    """Return the processes that serve: children of a gunicorn that this run started."""
    found = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True, check=False).stdout
    children = []
    for parent in found.split():
        inner = subprocess.run(["pgrep", "-P", parent], capture_output=True, text=True, check=False).stdout
        children += [int(pid) for pid in inner.split()]
    return children


def status(pid: int, field: str) -> int:
    """Return a size from /proc/<pid>/status in bytes."""
    line = next(row for row in Path(f"/proc/{pid}/status").read_text().splitlines() if row.startswith(field))
    return int(line.split()[1]) * 1024


class Peak:
    """How far the peak memory of the worker rises above what it held before."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def __enter__(self) -> "Peak":
        """Forget the earlier peak."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        self.before = status(self.pid, "VmRSS")
        self.started = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        """Take time and peak."""
        self.seconds = time.perf_counter() - self.started
        self.rise = status(self.pid, "VmHWM") - self.before


def send(method: str, url: str, key: str, body: bytes | None = None) -> bytes:
    """Send a request once and return the answer's body."""
    headers = {"Ocp-Apim-Subscription-Key": key, "Content-Type": "application/json"}
    request = urllib.request.Request(url, data=body, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=120) as answer:
        content: bytes = answer.read()
        return content


def measure(base: str, key: str, pid: int, size: int) -> list[tuple[str, float, float]]:
    """Upload a file of that many MiB and fetch it both ways, `harness.ROUNDS` times; return median and worst rise."""
    taken: dict[str, list[tuple[float, float]]] = {"upload": [], "WithContent": [], "FileURL": []}
    for _ in range(harness.ROUNDS):
        content = os.urandom(size * MIB)
        body = {"Name": "Measured", "FileType": "application/octet-stream", "FileName": f"{size}.bin"}
        text = json.dumps({**body, "FileContent": base64.b64encode(content).decode()}).encode()
        with Peak(pid) as peak:
            answer = json.loads(send("POST", f"{base}/document/AddDocument", key, text))
        taken["upload"].append((peak.seconds, peak.rise / (size * MIB)))
        path = f"{base}/document/GetDocument/{answer['Id']}"
        with Peak(pid) as peak:
            shape = json.loads(send("GET", f"{path}?WithContent=true", key))
        taken["WithContent"].append((peak.seconds, peak.rise / (size * MIB)))
        assert base64.b64decode(shape["FileContent"]) == content
        url = json.loads(send("GET", f"{path}?WithURL=true", key))["FileURL"]
        with Peak(pid) as peak:
            fetched = send("GET", url, key)
        taken["FileURL"].append((peak.seconds, peak.rise / (size * MIB)))
        assert hashlib.sha256(fetched).hexdigest() == shape["FileHash"]
    return [
        (name, statistics.median(seconds for seconds, _ in rows), max(rise for _, rise in rows))
        for name, rows in taken.items()
    ]


def main() -> None:
    """Measure and print; fails where an upload takes more memory than it may."""
    demo: dict[str, Any] = harness.prepare_demo()
    with harness.serving("config.wsgi", WEB_WORKERS="1", BASE_URL="") as base:
        (pid,) = workers()
        key = demo["subscription_key"]
        measure(base, key, pid, 1)  # The first of everything costs more once.
        for size in SIZES:
            for name, seconds, rise in measure(base, key, pid, size):
                print(f"{size:3} MiB {name:12} {seconds * 1000:7.0f} ms   peak memory +{rise:.2f} x the file")
                assert name != "upload" or rise <= ALLOWED or size < max(SIZES), rise


if __name__ == "__main__":
    main()
