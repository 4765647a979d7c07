"""The WSGI application for gunicorn: interfaces have their own handler, Django's handler serves the rest."""

import datetime
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import django
from django.core.handlers.wsgi import WSGIHandler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

django.setup(set_prefix=False)

# Django is set up from here on. The URL configuration is loaded now, so that the first caller does not wait for it.
from django.conf import settings  # noqa: E402
from django.core.cache import caches  # noqa: E402
from django.db import connections  # noqa: E402
from django.template import TemplateSyntaxError, engines  # noqa: E402
from django.utils import formats, translation  # noqa: E402
from django.utils.translation import trans_real  # noqa: E402

from config import urls as urls  # noqa: E402
from config.postgresql.limits import set_limits  # noqa: E402
from config.proxies import name_sender  # noqa: E402
from records.operations.middleware import InterfaceHandler  # noqa: E402
from records.operations.paths import is_interface  # noqa: E402

# The server limits every wait for PostgreSQL; management commands have no limits (DECISIONS 10.3). Wherever
# PostgreSQL expects many rows, it would compile the statement or start further processes for it. Both take longer than
# a request's statements.
set_limits(
    {
        "jit": 0,
        "max_parallel_workers_per_gather": 0,
        "lock_timeout": settings.LOCK_TIMEOUT * 1000,
        "statement_timeout": settings.STATEMENT_TIMEOUT * 1000,
        "idle_in_transaction_session_timeout": 60_000,
    }
)
# Django looks for a running event loop whenever the connection, the cache or the language is asked for, which happens
# some fifty times in an add. No code here is asynchronous, so that what belongs to a thread is enough.
connections._connections = threading.local()  # type: ignore[attr-defined]
caches._connections = threading.local()  # type: ignore[attr-defined]
trans_real._active = threading.local()  # type: ignore[attr-defined]
interface_application = InterfaceHandler()
_loading = threading.Lock()


def application(environ: dict[str, Any], start_response: object) -> Iterable[bytes]:
    """Answer a request (PEP 3333)."""
    if not is_interface(environ.get("PATH_INFO", "")):
        return django_application(environ, start_response)
    name_sender(environ)
    return interface_application(environ, start_response)


def django_application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer a request for a page by Django's handler, which loads the middleware of the settings when it is made."""
    with _loading:
        handler = _handler()
    return handler(environ, start_response)


def prepare_pages() -> None:
    """Load the middleware, the pages, their addresses, templates and texts, and the fonts of papers.

    The first person who opens a page would have to wait for them otherwise. Nothing is read from the database.
    """
    with _loading:
        _handler()
    import_module("records.backoffice.rooms").prepare()
    for code, _ in settings.LANGUAGES:
        with translation.override(code):
            formats.date_format(datetime.date.min)
            translation.gettext("Yes")
    template_engines: list[Any] = engines.all()
    for engine in template_engines:
        for folder in engine.template_dirs:
            for file in chain(Path(folder).rglob("*.html"), Path(folder).rglob("*.svg")):
                # A package may bring a template for tags of a package that is not installed.
                with suppress(TemplateSyntaxError):
                    engine.get_template(str(file.relative_to(folder)))
        _ = engine.engine.template_context_processors
    import_module("django.templatetags.static").static("backoffice/larder.svg")
    import_module("records.dashboard.printing.fonts").use_fonts()


@cache
def _handler() -> WSGIHandler:
    return WSGIHandler()
