"""Larder's own worker beside gunicorn's threaded worker and its gevent worker, on PostgreSQL.

Run by hand, with gevent installed beside the development tools:
`python -m tests.postgres python -m bench.worker_classes`. For each worker class it prints the answers a second of eight
kept connections, the slowest answer while a thousand clients have sent half of a head, and the slowest answer while two
other clients read a thousand employees again and again. Each figure is the median of three rounds.
"""

import http.client
import os
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import django

ROUNDS, MANY, EMPLOYEES = 3, 1_000, 1_000
PATIENCE = 5.0
"""Seconds after which a request counts as not answered."""
CLASSES = {
    "our own": "",
    "gthread": "--worker-class gthread --threads 4",
    "gevent": "--worker-class gevent --worker-connections 2000",
}


def slowest(base: str, path: str, headers: dict[str, str], times: int = 10) -> float:
    """Return the milliseconds of the slowest answer; those of the patience if one was not answered."""
    durations = []
    for _ in range(times):
        start = time.perf_counter()
        client = http.client.HTTPConnection(urlsplit(base).netloc, timeout=PATIENCE)
        try:
            client.request("GET", path, headers=headers)
            client.getresponse().read()
        except OSError:
            return PATIENCE * 1000
        finally:
            client.close()
        durations.append((time.perf_counter() - start) * 1000)
    return max(durations)


def among_half_heads(base: str, ask: Callable[[], float]) -> float:
    """Return what is measured while a thousand clients have sent half of a head."""
    parts = urlsplit(base)
    clients = [socket.create_connection((parts.hostname, parts.port), 20) for _ in range(MANY)]
    try:
        for client in clients:
            client.sendall(b"GET /item/GetItemList HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: ")
        return ask()
    finally:
        for client in clients:
            client.close()


def main() -> None:
    """Measure each worker class in turn, and print."""
    with tempfile.TemporaryDirectory(prefix="larder-bench-") as folder:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "DATA_DIR": folder, "LOG_LEVEL": "warning"}
        os.environ |= {"ALLOWED_HOSTS": "127.0.0.1,testserver", "RATE_LIMIT": "100000000"}
        django.setup()
        from bench.harness import load, serving
        from bench.rows import copy, migrate
        from tests import make

        migrate()
        site = make.make_site("Workers")
        headers = {"Ocp-Apim-Subscription-Key": make.make_key(site).secret}
        employee: Any = make.make_employee(site)
        copy(employee, EMPLOYEES, 2, id="gen_random_uuid()", site_sequence_id="n", code="'E-' || n")
        one, many = f"/employee/GetEmployee/{employee.pk}", f"/employee/GetEmployeeList?limit={EMPLOYEES}"
        print("Worker | Answers/s | p99 | Slowest among half heads | Slowest beside long lists", flush=True)
        for name, options in CLASSES.items():
            rows = []
            for _ in range(ROUNDS):
                with serving("config.wsgi", WEB_WORKERS="2", GUNICORN_CMD_ARGS=options) as base:
                    plain = load(base + one, headers)
                    slowest_time = among_half_heads(base, lambda base=base: slowest(base, one, headers))  # type: ignore[misc]
                with serving("config.wsgi", WEB_WORKERS="2", GUNICORN_CMD_ARGS=options) as base:
                    beside = threading.Thread(
                        target=load, args=(base + many, headers), kwargs={"connections": 2, "seconds": 3}
                    )
                    beside.start()
                    time.sleep(0.5)
                    rows.append((plain.rate, plain.p99, slowest_time, slowest(base, one, headers, 30)))
                    beside.join()
            rate, p99, slowest_time, slowest_alone = map(statistics.median, zip(*rows, strict=True))
            print(f"{name} | {rate:.0f} | {p99:.0f} ms | {slowest_time:.0f} ms | {slowest_alone:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
