"""Stored files that no record points at, left by interrupted uploads; they are removed once a day."""

import datetime
import logging
from collections.abc import Iterator
from itertools import islice

from django.core.files.storage import default_storage
from django_tasks import task

from records.files import storage
from records.files.models import file_models
from records.history.trail import now

logger = logging.getLogger("larder.files")
BATCH = 500
AGE_OF_SWEPT = datetime.timedelta(days=7)
"""The age from which the daily task removes an orphan; `manage.py sweep_files` may remove younger ones."""
MOST_SWEPT = 100
"""More orphans than interrupted uploads leave. The database is then probably not the one that belongs to the files."""


@task()
def sweep() -> int:
    """Remove the orphans that are 7 days old, and return how many; runs once a day.

    Removes nothing if there are more than 100. More orphans mean that the database was restored or exchanged without
    its files, which are then needed again: a person has to check.
    """
    paths = list(islice(orphans(now() - AGE_OF_SWEPT), MOST_SWEPT + 1))
    if len(paths) > MOST_SWEPT:
        logger.error(
            "No record points at more than %s stored files. None was removed: check that the database belongs to these "
            "files, then run manage.py sweep_files.",
            MOST_SWEPT,
        )
        return 0
    for path in paths:
        default_storage.delete(path)
    if paths:
        logger.info("Removed %s stored files that no record points at.", len(paths))
    return len(paths)


def orphans(oldest: datetime.datetime) -> Iterator[str]:
    """Yield the path of each file that was stored before `oldest` and that no record points at.

    The age is compared before the rows are queried, so that a row that is committed in between is found.
    """
    paths = storage.walk()
    while batch := list(islice(paths, BATCH)):
        old = [path for path in batch if _stored_before(path, oldest)]
        used_paths: set[str] = set()
        for model in file_models():
            used_paths.update(model._default_manager.filter(path__in=old).values_list("path", flat=True))
        yield from (path for path in old if path not in used_paths)


def _stored_before(path: str, oldest: datetime.datetime) -> bool:
    try:
        return default_storage.get_modified_time(path) < oldest
    except FileNotFoundError:
        return False
