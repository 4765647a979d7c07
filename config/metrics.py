"""Prometheus metrics of all processes of a server, on a port of their own (METRICS_PORT; off if it is not set).

Requests are counted from the lines of the access log, so no other module knows about metrics. Each worker process
writes its counters to files in PROMETHEUS_MULTIPROC_DIR; a separate process (`python -m config.metrics PORT`) adds them
up and queries the database for the rest.
"""

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
BASE_DIR = Path(__file__).resolve().parent.parent
BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
PAGES = frozenset({"accounts", "admin", "docs", "healthz", "oauth", "profile", "readyz", "static"})
"""First parts of paths that have a metric label of their own; callers can invent any other one."""


class MetricsHandler(logging.Handler):
    """Counts requests by operation and status, and failed sign-ins, from the log lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Count one line of `larder.access`, `larder.security` or `larder.database`."""
        if FOLDER not in os.environ:
            return
        if record.name == "larder.security":
            if getattr(record, "operation", "") == "SignInFailed":
                instruments().failed_sign_ins.inc()
            return
        if record.name == "larder.database":
            if hasattr(record, "statement"):
                instruments().slow_statements.inc()
            return
        if record.name == "larder.replica":
            instruments().replica_reads.labels(getattr(record, "outcome", "")).inc()
            return
        status = getattr(record, "status", None)
        if status is not None:
            operation = operation_label(str(getattr(record, "operation", "")))
            instruments().requests.labels(operation, str(status)).inc()
            duration = getattr(record, "duration_ms", None)
            if duration is not None:
                instruments().seconds.labels(operation).observe(duration / 1000)


def operation_label(operation: str) -> str:
    """Return the label under which a request is counted: its operation, or the first part of a page's path."""
    if " " not in operation:
        return operation or "other"
    part = operation.partition("/")[2].partition("/")[0]
    return part if part in PAGES else "other"


class Instruments:
    """The metrics that each worker process keeps."""

    def __init__(self) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        self.requests = Counter("larder_requests", "Requests by operation and status.", ["operation", "status"])
        self.seconds = Histogram("larder_request_seconds", "Seconds an answer took.", ["operation"], buckets=BUCKETS)
        self.failed_sign_ins = Counter("larder_failed_sign_ins", "Sign-ins that failed.")
        self.slow_statements = Counter("larder_slow_statements", "Statements that took SLOW_STATEMENT_MS or longer.")
        text = "Lists by who answered: the replica, or the primary since the replica was behind or away."
        self.replica_reads = Counter("larder_replica_reads", text, ["outcome"])
        sums: dict[str, Any] = {"multiprocess_mode": "livesum"}
        self.threads = Gauge("larder_threads", "Threads that answer requests.", **sums)
        self.busy = Gauge("larder_threads_busy", "Threads that are answering a request.", **sums)
        self.waiting = Gauge("larder_requests_waiting", "Whole requests that wait for a thread.", **sums)
        self.connections = Gauge("larder_connections", "Open connections of clients.", **sums)
        self.breaker = Gauge(
            "larder_breaker_open", "Processes that know that the database is unavailable.", multiprocess_mode="livesum"
        )


@cache
def instruments() -> Instruments:
    """Return this process's metrics, created at first use: after the fork, so that the process has its own files."""
    return Instruments()


def note_server(*, threads: int, busy: int, waiting: int, connections: int) -> None:
    """Record how busy this worker process is; its poller calls this twice a second."""
    if FOLDER not in os.environ:
        return
    from config.postgresql.breaker import breaker

    metrics = instruments()
    metrics.threads.set(threads)
    metrics.busy.set(busy)
    metrics.waiting.set(waiting)
    metrics.connections.set(connections)
    metrics.breaker.set(1 if breaker.is_open else 0)


# --- The master process -----------------------------------------------------------------------------------------------


def prepare() -> None:
    """Create the folder of the counters before any worker starts."""
    os.environ[FOLDER] = tempfile.mkdtemp(prefix="larder-metrics-")


class Exporter:
    """The process that serves the metrics; the server's master starts and ends it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, and restart it if it ends by itself."""
        threading.Thread(target=self._keep, name="metrics", daemon=True).start()

    def _keep(self) -> None:
        while True:
            self.process = subprocess.Popen(  # noqa: S603 (our own command)
                [sys.executable, "-m", "config.metrics", str(self.port), str(os.getpid())],
                cwd=BASE_DIR,
                stdin=subprocess.DEVNULL,
            )
            self.process.wait()
            time.sleep(5)

    def end(self) -> None:
        """End the process and remove the counters."""
        if self.process is not None:
            self.process.terminate()
        shutil.rmtree(os.environ.get(FOLDER, ""), ignore_errors=True)


def forget_worker(pid: int) -> None:
    """Delete the gauges of a worker process that ended; its counters remain in the sums."""
    if FOLDER in os.environ:
        from prometheus_client import multiprocess

        multiprocess.mark_process_dead(pid)


# --- What the database knows ------------------------------------------------------------------------------------------


class InstallationCollector:
    """Queries the database and the readiness check at each request from Prometheus."""

    def collect(self) -> Iterator[Any]:
        """Yield a gauge for each part of `/readyz`, and the ages and backlogs from the database."""
        from django.db import Error, connection
        from prometheus_client.core import GaugeMetricFamily

        from records.operations import health

        ready = GaugeMetricFamily("larder_ready", "1 where the part of the installation works.", labels=["part"])
        state = health.state()
        for part, word in state.items():
            if part != "status":
                ready.add_metric([part], float(word == "ok"))
        yield ready
        if state["database"] != "ok":
            return
        try:
            yield from self._figures()
        except Error:
            logging.getLogger("larder.metrics").warning("The database could not be asked for metrics.")
        finally:
            connection.close()

    def _figures(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for name, text, value in figures():
            if value is not None:
                yield GaugeMetricFamily(name, text, value=value)
        deliveries = CounterMetricFamily(
            "larder_webhook_deliveries", "Webhook attempts by outcome.", labels=["outcome"]
        )
        for outcome, count in webhook_deliveries().items():
            deliveries.add_metric([outcome], count)
        yield deliveries
        text = "Tasks that wait or failed, by task; each mail is sent by one."
        tasks = GaugeMetricFamily("larder_tasks", text, labels=["task", "state"])
        for task, state, count in tasks_by_name():
            tasks.add_metric([task, state], count)
        yield tasks


def figures() -> Iterator[tuple[str, str, float | None]]:
    """Yield name, meaning and value of each metric from the database; None if there is no value yet."""
    from django.db.models import Max, Min, Sum
    from django.utils import timezone
    from django_tasks_db.models import DBTaskResult

    from records.history.models import ChainHead, Proof
    from records.operations import heartbeats
    from records.operations.models import Heartbeat
    from records.webhooks.deliverer import backlog_since
    from records.webhooks.models import State, Subscription

    moment = timezone.now()

    def age(at: Any) -> float | None:
        return None if at is None else (moment - at).total_seconds()

    beats = Heartbeat.objects
    newest = beats.filter(name__startswith=heartbeats.WORKER).aggregate(at=Max("at"))["at"]
    yield "larder_worker_heartbeat_age_seconds", "Seconds since a worker's last sign of life.", age(newest)
    waiting_tasks = DBTaskResult.objects.ready()
    yield "larder_tasks_waiting", "Tasks that wait for a worker.", float(waiting_tasks.count())
    oldest = waiting_tasks.aggregate(at=Min("enqueued_at"))["at"]
    yield "larder_oldest_task_age_seconds", "Seconds that the oldest waiting task has waited.", age(oldest) or 0.0
    failed_count = DBTaskResult.objects.failed().count()
    yield "larder_tasks_failed", "Tasks that failed and are still listed.", float(failed_count)
    proof = Proof.objects.order_by("-at", "-id").values_list("at", "faults").first()
    yield "larder_proof_age_seconds", "Seconds since the history was last verified.", age(proof and proof[0])
    yield "larder_proof_faults", "Faults that the last proof found.", None if proof is None else float(proof[1])
    backup = beats.filter(name=heartbeats.BACKUP).values_list("at", flat=True).first()
    yield "larder_backup_age_seconds", "Seconds since the last backup.", age(backup)
    changes = ChainHead.objects.aggregate(all=Sum("number"))["all"]
    yield "larder_changes", "Changes in the history of all sites.", float(changes or 0)
    text = "Seconds since the oldest change was made that a webhook was not delivered."
    yield "larder_webhook_backlog_age_seconds", text, age(backlog_since()) or 0.0
    paused_count = Subscription.objects.filter(state=State.PAUSED, is_archived=False).count()
    yield "larder_webhooks_paused", "Webhooks that are paused.", float(paused_count)


def webhook_deliveries() -> dict[str, int]:
    """Return how many attempts to deliver a webhook message have ever succeeded and failed."""
    from django.db.models import Sum

    from records.webhooks.models import Subscription

    sums = Subscription.objects.aggregate(delivered=Sum("delivered"), failed=Sum("failed"))
    return {outcome: count or 0 for outcome, count in sums.items()}


def tasks_by_name() -> list[tuple[str, str, int]]:
    """Return how many tasks wait and how many failed and are still listed: name, state and number."""
    from django.db.models import Count
    from django_tasks_db.models import DBTaskResult

    states = {"waiting": DBTaskResult.objects.ready(), "failed": DBTaskResult.objects.failed()}
    return [
        (task, state, count)
        for state, rows in states.items()
        for task, count in rows.order_by().values_list("task_path").annotate(Count("pk")).order_by("task_path")
    ]


# --- The process that answers Prometheus ------------------------------------------------------------------------------


def main(port: int, parent: int = 0) -> None:
    """Serve /metrics until this process is stopped or the server that started it has ended."""
    import django
    from prometheus_client import CollectorRegistry, multiprocess, start_http_server

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    registry = CollectorRegistry()
    if os.environ.get(FOLDER):
        multiprocess.MultiProcessCollector(registry)
    registry.register(InstallationCollector())
    server, thread = start_http_server(port, registry=registry)
    while thread.is_alive() and (not parent or os.getppid() == parent):
        time.sleep(1)
    server.shutdown()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(*(int(word) for word in sys.argv[1:]))
