"""Metrics for Prometheus: right over several processes, with what only the database knows."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from config.metrics import figures, operation_label
from records.operations import heartbeats
from tests.faults.processes import free_port

ROOT = Path(__file__).resolve().parents[2]

COUNTING = """
import logging
from config.metrics import MetricsHandler, note_server
log = logging.getLogger("larder.access"); log.addHandler(MetricsHandler()); log.setLevel("INFO")
for _ in range({count}):
    log.info("request", extra={{"operation": "GetItem", "status": 200, "duration_ms": 4.0}})
log.info("request", extra={{"operation": "GET /wp-login.php", "status": 404, "duration_ms": 1.0}})
security = logging.getLogger("larder.security"); security.addHandler(MetricsHandler()); security.setLevel("INFO")
security.info("Sign-in failed", extra={{"operation": "SignInFailed"}})
security.info("Signed in", extra={{"operation": "SignedIn"}})
note_server(threads=4, busy=1, waiting=0, connections=3)
"""


@pytest.mark.parametrize(
    ("operation", "label"),
    [
        ("GetComplaint", "GetComplaint"),
        ("GET /admin", "admin"),
        ("GET /wp-login.php", "other"),
        ("POST /anything/else", "other"),
        ("", "other"),
    ],
)
def test_no_caller_can_invent_labels(operation: str, label: str) -> None:
    assert operation_label(operation) == label


def test_counters_of_several_processes_are_added_up(tmp_path: Path) -> None:
    folder = tmp_path / "counters"
    folder.mkdir()
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder), "DATA_DIR": str(tmp_path), "ENV_FILE": ""}
    for count in (2, 3):
        subprocess.run([sys.executable, "-c", COUNTING.format(count=count)], cwd=ROOT, env=environment, check=True)
    port = free_port()
    exporter = subprocess.Popen([sys.executable, "-m", "config.metrics", str(port)], cwd=ROOT, env=environment)
    try:
        text = _read(f"http://127.0.0.1:{port}/metrics")
    finally:
        exporter.terminate()
        exporter.wait(10)
    assert 'larder_requests_total{operation="GetItem",status="200"} 5.0' in text
    assert 'larder_requests_total{operation="other",status="404"} 2.0' in text
    assert "larder_failed_sign_ins_total 2.0" in text
    assert 'larder_request_seconds_count{operation="GetItem"} 5.0' in text
    assert re.search(r'larder_ready\{part="database"\} 0\.0', text), "The empty database of this test is not migrated."


def _read(address: str) -> str:
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(address, timeout=20) as answer:
                return str(answer.read().decode())
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


@pytest.mark.django_db
def test_the_database_tells_ages_and_backlogs() -> None:
    before = {name: value for name, _, value in figures()}
    assert before["larder_worker_heartbeat_age_seconds"] is None
    assert before["larder_tasks_waiting"] == 0
    assert before["larder_backup_age_seconds"] is None
    heartbeats.beat(heartbeats.WORKER + "one")
    heartbeats.beat(heartbeats.BACKUP)
    after = {name: value for name, _, value in figures()}
    assert after["larder_worker_heartbeat_age_seconds"] is not None
    assert 0 <= after["larder_worker_heartbeat_age_seconds"] < 5
    assert after["larder_backup_age_seconds"] is not None
