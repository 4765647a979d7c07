"""Loads the back-office pages of all rooms when somebody first needs them.

The pages are most of the code, and programs that call an interface do not need them. A server that loads them after its
start answers the first request much sooner. It loads them in the background (`config/gunicorn.py`); code that needs
them earlier loads them or waits.
"""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.utils.module_loading import autodiscover_modules

from records.history.english import in_english

_lock = threading.RLock()
_registering = threading.local()
_has_begun = _is_done = False


def load() -> None:
    """Load the pages of all rooms; the first call does so, and calls that come meanwhile wait for it.

    The admin modules come first, then the resources, which define import and export of the lists, and then what the
    rooms add to each other's pages. Texts that are composed now are in English, whatever the language of the first
    caller.
    """
    global _has_begun, _is_done
    if _is_done or getattr(_registering, "is_active", False):
        return
    with _lock:
        if _has_begun:
            return  # This thread is loading them already: an admin module has asked for the site.
        _has_begun = True
        try:
            with in_english():
                autodiscover_modules("admin")
                autodiscover_modules("resources")
                for config in apps.get_app_configs():
                    getattr(config, "add_to_backoffice", lambda: None)()
            _is_done = True
        finally:
            _has_begun = _is_done


def prepare() -> None:
    """Load the pages of all rooms, and find out how the addresses of their lists and records are written."""
    from django.contrib import admin

    pages: dict[Any, Any] = admin.site._registry
    for page in pages.values():
        page.url_of("changelist")
        page.page_of(uuid.UUID(int=0))


@contextmanager
def registering() -> Iterator[None]:
    """Let an admin module register its pages without loading those of the other rooms."""
    _registering.is_active = True
    try:
        yield
    finally:
        _registering.is_active = False
