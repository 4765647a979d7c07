"""What a worker has loaded is moved to huge pages."""

import mmap
import re
from pathlib import Path

import pytest

from config.server import huge_pages
from config.server.huge_pages import HUGE_PAGE

MEMORY_MAP = """\
00400000-00c00000 rw-p 00000000 fe:00 260386                     /usr/bin/python3.11
01d00000-02900000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000400000 rw-p 00000000 00:00 0 
7f0000500000-7f0000600000 rw-p 00000000 00:00 0 
7f0001000000-7f0001800000 r-xp 00000000 00:00 0 
7f0002000000-7f0002800000 rw-s 00000000 00:01 77                 /dev/zero (deleted)
7ffd64200000-7ffd64a00000 rw-p 00000000 00:00 0                  [stack]
"""  # noqa: W291 (as Linux writes it)


def test_only_whole_huge_pages_of_own_memory_are_moved() -> None:
    assert list(huge_pages.spans(MEMORY_MAP)) == [(0x1E00000, 5 * HUGE_PAGE), (0x7F0000000000, 2 * HUGE_PAGE)]


def test_the_memory_of_the_process_is_moved() -> None:
    with new_memory() as memory:
        try:
            memory.madvise(huge_pages.MADV_COLLAPSE)
        except OSError:
            pytest.skip("This system has no huge pages to give.")
    with new_memory() as memory:
        before = on_huge_pages()
        huge_pages.collapse()
        assert on_huge_pages() >= before + 7 * HUGE_PAGE
        assert memory[:] == b"x" * len(memory)


def new_memory() -> mmap.mmap:
    """Return memory of the process, which covers seven huge pages at least."""
    memory = mmap.mmap(-1, 8 * HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(b"x" * len(memory))
    return memory


def on_huge_pages() -> int:
    """Return how many bytes of the process's memory are on huge pages."""
    match = re.search(r"AnonHugePages: +(\d+) kB", Path("/proc/self/smaps_rollup").read_text())
    assert match
    return int(match[1]) * 1024
