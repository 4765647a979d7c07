"""What the workers of one server know about each other: a page of memory that the master shares with all of them."""

import mmap
import struct
import time

SLOTS = 256
FREE = -1
_COUNT = struct.Struct("i")
_MOMENT = struct.Struct("d")
_RELOADED, _READY = SLOTS * _COUNT.size, SLOTS * _COUNT.size + _MOMENT.size


class Board:
    """The number of open connections of each worker, and when the code was last loaded anew.

    Made by the master before it forks. Each worker writes to its own slot only, so no lock is needed.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        for slot in range(SLOTS):
            self.set_count(slot, FREE)

    def set_count(self, slot: int, number: int) -> None:
        """Write how many connections a worker has open; FREE when the worker has ended."""
        _COUNT.pack_into(self._memory, slot % SLOTS * _COUNT.size, number)

    def count(self, slot: int) -> int:
        """Return how many connections the worker of a slot has open, or FREE."""
        return int(_COUNT.unpack_from(self._memory, slot % SLOTS * _COUNT.size)[0])

    def fewest_of_others(self, slot: int) -> int | None:
        """Return the smallest number of connections that another worker has open; None without another worker."""
        others = [self.count(other) for other in range(SLOTS) if other != slot % SLOTS]
        return min((number for number in others if number != FREE), default=None)

    def reload(self) -> None:
        """Note that the master starts new workers now, which load the code anew."""
        _MOMENT.pack_into(self._memory, _RELOADED, time.monotonic())

    def ready(self) -> None:
        """Note that a new worker can serve."""
        _MOMENT.pack_into(self._memory, _READY, time.monotonic())

    def successor_is_loading(self, patience: float) -> bool:
        """Return whether new workers were started within `patience` seconds and none of them can serve yet."""
        reloaded = _MOMENT.unpack_from(self._memory, _RELOADED)[0]
        ready = _MOMENT.unpack_from(self._memory, _READY)[0]
        return bool(reloaded > ready and time.monotonic() - reloaded < patience)


board = Board()
"""The board of this server."""
