"""How gunicorn serves the product: `gunicorn config.wsgi -c config/gunicorn.py`."""

import gc
import logging
import os
import sys
import tempfile
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from gunicorn.arbiter import Arbiter

from config import env, metrics
from config.server.board import FREE, board

HEAD_START = 0.1
"""For how many seconds a worker only answers requests before it loads the rest in the background."""
_environment = env.load(Path(__file__).resolve().parent.parent)

bind = _environment.text("BIND", f"127.0.0.1:{_environment.integer('PORT', 8000, maximum=65535)}")
workers = _environment.integer("WEB_WORKERS", 2, maximum=128)
# A poller reads whole requests and sends the answers; threads compute them (docs/decisions/0002-serving.md).
worker_class = "config.server.worker.Worker"
logger_class = "config.server.worker.Logger"
threads = _environment.integer("WEB_THREADS", 4, maximum=64)
metrics_port = _environment.integer("METRICS_PORT", 0, minimum=0, maximum=65535)
_environment.refuse_if_faulty()

_exporter = metrics.Exporter(metrics_port)
if metrics_port:
    metrics.prepare()

# Each worker loads the code itself, so that SIGHUP loads new code without downtime.
preload_app = False
# Idle connections cost a little memory each; a worker at this limit closes the one that has been idle longest.
worker_connections = 5000
timeout = 60
graceful_timeout = 30
# Longer than the 60 seconds for which proxies keep an idle connection, so that none is closed during a request.
keepalive = 75

# The heartbeat file must not wait for a busy disk.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
# Python looks for the folder of temporary files at its first use, and finds none while the disk is full. It is chosen
# here, so that what needs such a file then is refused because the disk is full.
try:
    tempfile.gettempdir()
except FileNotFoundError:
    tempfile.tempdir = "/tmp"  # noqa: S108
# The control socket would be in the user's home, and a service may not have one.
control_socket_disable = True
# RequestMiddleware writes the access log; gunicorn's own messages use the same format.
accesslog = None
errorlog = "-"
logconfig_dict = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "records.operations.logs.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {"gunicorn.error": {"handlers": ["stderr"], "level": "INFO", "propagate": False}},
}


def on_reload(server: object) -> None:
    """Let the new workers load the code again, and keep the old ones until a new one is ready.

    The master itself keeps its code of config/server: a change of those modules needs a restart.
    """
    for name in list(sys.modules):
        if name.startswith(("records.", "config.")) and not name.startswith("config.server"):
            del sys.modules[name]
    board.reload()


def when_ready(server: object) -> None:
    """Start the process that serves the metrics to Prometheus."""
    if metrics_port:
        _exporter.start()


def post_fork(server: object, worker: object) -> None:
    """Load the code without the garbage collector, which would look at all that is loaded again and again."""
    gc.disable()


def post_worker_init(worker: Any) -> None:
    """Let the collector leave alone what is loaded, and start in the worker what commands and tests do not need.

    It starts writing the recent calls of keys, keeps the files of an SQLite database open, and does in the background
    what no request should wait for.
    """
    from django.db import connection

    from records.operations.calls import buffer

    gc.freeze()
    gc.enable()
    buffer.write_by_itself()
    if connection.vendor == "sqlite":
        from config.sqlite.base import keep_open

        keep_open()
    threading.Thread(target=_prepare, args=(worker.age == 1,), name="preparing", daemon=True).start()


def _prepare(is_first: bool) -> None:
    """Load the endpoints and the pages, and build the OpenAPI document. The first worker logs weak settings.

    If an endpoint cannot be loaded, the worker ends as if the application could not: the master then ends too, or keeps
    the workers with the former code.
    """
    from django.core.checks import run_checks

    from config import urls
    from config.wsgi import prepare_pages

    # The requests that wait already are answered first.
    time.sleep(HEAD_START)
    try:
        urls.load()
        import_module("scim.endpoints")
    except Exception:
        logging.getLogger("gunicorn.error").critical("The endpoints cannot be loaded.", exc_info=True)
        os._exit(Arbiter.WORKER_BOOT_ERROR)
    if is_first:
        for weakness in run_checks(tags=["larder"], include_deployment_checks=True):
            logging.getLogger("larder.settings").warning("%s %s", weakness.msg, weakness.hint)
    prepare_pages()
    import_module("records.operations.openapi_document").document("json")
    gc.freeze()
    import_module("config.server.huge_pages").collapse()
    logging.getLogger("larder.server").info("The worker has loaded what a first request would have to wait for.")


def worker_exit(server: object, worker: object) -> None:
    """Close what the worker kept open."""
    from config.sqlite.base import let_go

    let_go()


def child_exit(server: object, worker: Any) -> None:
    """Forget the connections and gauges of a worker that ended, for whatever reason."""
    board.set_count(worker.age, FREE)
    metrics.forget_worker(worker.pid)


def on_exit(server: object) -> None:
    """End the process that serves the metrics to Prometheus."""
    if metrics_port:
        _exporter.end()
