"""Folders that lie in memory, for what a test run writes and does not need afterwards."""

import os
import shutil

MEMORY = "/dev/shm"  # noqa: S108 (only for folders with random names)
ENOUGH = 4 << 30
"""The bytes that have to be free: a run's database and its log take up to 2 GB."""


def folder_in_memory() -> str | None:
    """Return the folder for temporary files in memory, or None if the machine has none or too little of it."""
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ENOUGH:
        return MEMORY
    return None
