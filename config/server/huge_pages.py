"""Asks Linux to keep what a worker has loaded on huge pages of 2 MiB.

A worker holds more than 100 MiB of code and data. Each request touches them in many places, and for most of the usual
pages of 4 KiB the processor would have to look up the address anew.
"""

import ctypes
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

HUGE_PAGE = 2 * 1024 * 1024
MADV_COLLAPSE = 25
"""The advice that moves memory to huge pages at once; Linux knows it since version 6.1."""
_WRITABLE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p [0-9a-f]+ 00:00 0 +(?:\[heap\])?\n")
"""A line of a memory map that is about memory of the process itself and not about a file."""


def collapse() -> None:
    """Move the memory that the process has allocated until now to huge pages, where the system supports that."""
    with suppress(OSError, AttributeError):
        advise = ctypes.CDLL(None).madvise
        for start, length in spans(Path("/proc/self/maps").read_text()):
            # Where Linux refuses, the memory stays as it is.
            advise(ctypes.c_void_p(start), ctypes.c_size_t(length), MADV_COLLAPSE)


def spans(memory_map: str) -> Iterator[tuple[int, int]]:
    """Yield the address and the length in bytes of each part of a memory map that can be on huge pages.

    The map is the text of `/proc/<pid>/maps`.
    """
    for match in _WRITABLE.finditer(memory_map):
        start = -(-int(match[1], 16) // HUGE_PAGE) * HUGE_PAGE
        end = int(match[2], 16) // HUGE_PAGE * HUGE_PAGE
        if start < end:
            yield start, end - start
