"""Modules that are loaded when something is first taken from them."""

import sys
import threading
from importlib import import_module
from types import ModuleType
from typing import Any

_lock = threading.Lock()


class Later(ModuleType):
    """Stands for a module, outside a package, that other modules import but seldom use."""

    def __getattr__(self, name: str) -> Any:
        """Return what the module has under a name; the first caller loads it, and others wait for that."""
        with _lock:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def load_later(name: str) -> None:
    """Let imports of a module that is not loaded yet succeed without loading it."""
    if name not in sys.modules:
        sys.modules[name] = Later(name)
