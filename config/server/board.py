"""What the workers of one server know about each other: a page of memory shared with the master."""

import mmap
import struct
import time

SLOTS = 256
FREE = -1
_COUNT = struct.Struct("i")
_MOMENT = struct.Struct("d")
_RELOAD_OFFSET = SLOTS * _COUNT.size


class Board:
    """The number of open connections of each worker, and when the code was last reloaded.

    The master creates it before it forks. Each worker writes only to its own slot, so no lock is needed.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        for slot in range(SLOTS):
            self.set_count(slot, FREE)

    def set_count(self, slot: int, number: int) -> None:
        """Write how many connections a worker has open; FREE if the worker has ended."""
        _COUNT.pack_into(self._memory, slot % SLOTS * _COUNT.size, number)

    def count(self, slot: int) -> int:
        """Return how many connections the worker of a slot has open, or FREE."""
        return int(_COUNT.unpack_from(self._memory, slot % SLOTS * _COUNT.size)[0])

    def fewest_of_others(self, slot: int) -> int | None:
        """Return the smallest number of open connections of another worker; None if there is no other worker."""
        counts = [self.count(other_slot) for other_slot in range(SLOTS) if other_slot != slot % SLOTS]
        return min((number for number in counts if number != FREE), default=None)

    def reload(self) -> None:
        """Record that the master starts new workers now, which reload the code."""
        _MOMENT.pack_into(self._memory, _RELOAD_OFFSET, time.monotonic())

    def successors_are_loading(self, slot: int, start_time: float, workers: int, patience: float) -> bool:
        """Return whether workers that were started after this one are still loading the code.

        They have `patience` seconds. A worker is ready when its slot contains a number.
        """
        reload_time = _MOMENT.unpack_from(self._memory, _RELOAD_OFFSET)[0]
        if not start_time < reload_time <= time.monotonic() < reload_time + patience:
            return False
        ready = sum(self.count(slot + newer) != FREE for newer in range(1, 2 * workers + 1))
        return bool(ready < workers)


board = Board()
"""The board of this server."""
