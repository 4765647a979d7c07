"""What whole processes cost: the start, a large upload, the shares of two workers, and SQLite."""

import base64
import compileall
import json
import os
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import harness
from bench.harness import Table, compare, load, serving
from bench.rows import migrate
from tests import make

MIB = 1024 * 1024
UPLOAD = 50 * MIB


def measure(table: Table) -> None:
    """Measure all of it."""
    migrate()
    site = make.make_site("Processes")
    key = make.make_key(site)
    headers = {"Ocp-Apim-Subscription-Key": key.secret}
    starts(table)
    uploads(table, headers)
    shares(table, f"/employee/GetEmployee/{make.make_employee(site).pk}", headers)
    sqlite(table)


def starts(table: Table) -> None:
    """Measure the start of a server with one worker to its first answer, with and without bytecode.

    Every installation compiles the code; here, the environment can forbid Python to keep what it compiled.
    """
    for folder in ("bench", "config", "documents", "materials", "records", "scim"):
        compileall.compile_dir(harness.ROOT / folder, quiet=1)

    def starter(module: str, path: str, *, cold: bool) -> Callable[[], float]:
        def measure() -> float:
            if not cold:
                return harness.start_to_answer(module, path) * 1000
            with tempfile.TemporaryDirectory() as empty:
                return harness.start_to_answer(module, path, PYTHONPYCACHEPREFIX=empty) * 1000

        return measure

    for cold, name, aim in ((False, "", "≤ 2.5"), (True, ", without bytecode", "≤ 4")):
        product = starter("config.wsgi", "/healthz", cold=cold)
        floor = starter("bench.floor:application", "/", cold=cold)
        rounds = compare(product, floor, min(harness.ROUNDS, 3))
        table.times(f"Start to first answer{name}", rounds, "bare gunicorn", aim)


def uploads(table: Table, headers: dict[str, str]) -> None:
    """Measure time and peak memory of one large upload to a server with one worker."""
    content = base64.b64encode(os.urandom(UPLOAD)).decode()
    body = {"Name": "Measured", "FileType": "application/octet-stream", "FileName": "large.bin", "FileContent": content}
    text = json.dumps(body, separators=(",", ":")).encode()
    rises = []

    def send(url: str) -> float:
        (pid,) = harness.workers()[-1:]
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        before, start = _memory(pid, "VmRSS"), time.perf_counter()
        request = urllib.request.Request(url, text, {"Content-Type": "application/json", **headers})
        with urllib.request.urlopen(request, timeout=120) as answer:
            assert answer.status == 200, answer.read()
        rises.append((_memory(pid, "VmHWM") - before) / UPLOAD)
        return (time.perf_counter() - start) * 1000

    def through(module: str, path: str) -> float:
        with serving(module, WEB_WORKERS="1", WEB_THREADS="1") as base:
            if module == "config.wsgi":
                harness.get(f"{base}/healthz")
            return send(base + path)

    rounds = compare(
        lambda: through("config.wsgi", "/document/AddDocument"), lambda: through("bench.floor:application", "/upload")
    )
    table.times("Upload of 50 MiB", rounds, "streaming floor", "≤ 1.1")
    ratios = [rise for turn in range(len(rounds)) for rise in rises[2 * turn + turn % 2 : 2 * turn + turn % 2 + 1]]
    table.add(
        "Upload of 50 MiB, peak memory",
        f"{statistics.median(ratios) * 50:.0f} MiB",
        "the file",
        ratios,
        "≤ 0.5",
    )


def _memory(pid: int, name: str) -> int:
    line = next(row for row in Path(f"/proc/{pid}/status").read_text().splitlines() if row.startswith(name))
    return int(line.split()[1]) * 1024


def shares(table: Table, path: str, headers: dict[str, str]) -> None:
    """Measure how two workers share the requests of eight kept connections, by the time that each ran."""
    smaller = []
    for _ in range(harness.ROUNDS):
        with serving("config.wsgi", WEB_WORKERS="2") as base:
            load(base + path, headers, seconds=0.2)
            pids = harness.workers()
            before = [harness.processor_time(pid) for pid in pids]
            load(base + path, headers)
            ran = [harness.processor_time(pid) - spent for pid, spent in zip(pids, before, strict=True)]
            smaller.append(min(ran) / max(sum(ran), 0.01))
    share = statistics.median(smaller) * 100
    table.add("Shares of 2 workers", f"{share:.0f} : {100 - share:.0f}", "half of the work", [], "40 : 60")


def sqlite(table: Table) -> None:
    """Measure reads and adds with eight connections on SQLite."""
    with tempfile.TemporaryDirectory(prefix="larder-bench-") as folder:
        apart: dict[str, Any] = {"DATABASE_URL": f"sqlite:///{folder}/db.sqlite3", "DATA_DIR": folder}
        demo: dict[str, Any] = harness.prepare_demo(**apart)
        headers = {"Ocp-Apim-Subscription-Key": demo["subscription_key"]}
        with serving("config.wsgi", WEB_WORKERS="2", **apart) as base:
            employees = json.loads(harness.get(f"{base}/employee/GetEmployeeList?limit=1", headers)[1])
            url = f"{base}/employee/GetEmployee/{employees[0]['Id']}"
            nature = json.loads(harness.get(url, headers)[1])["NatureOfEmploymentId"]
            body = json.dumps({**make.employee_body(), "NatureOfEmploymentId": nature}).encode()
            reads = [load(url, headers).rate for _ in range(harness.ROUNDS)]
            adds = [
                load(f"{base}/employee/AddEmployee", headers, method="POST", body=body) for _ in range(harness.ROUNDS)
            ]
    table.add("GetEmployee on SQLite", f"{statistics.median(reads):.0f}/s", "-", [], "≥ 745/s")
    rate, p99 = statistics.median(add.rate for add in adds), statistics.median(add.p99 for add in adds)
    table.add("AddEmployee on SQLite, 8 at once", f"{rate:.0f}/s, p99 {p99:.0f} ms", "-", [], "≥ 306/s")
