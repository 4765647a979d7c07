"""Tests of provisioning.

They begin by loading the protocol's models, which look for their docstrings in the whole stack of calls: it is short in
a thread of its own, and so deep within a request that a page which loads them first can be too late for the browser.
"""

from importlib import import_module
from threading import Thread

_loading = Thread(target=lambda: [import_module(name) for name in ("scim2_client", "scim.schemas")])
_loading.start()
_loading.join()
