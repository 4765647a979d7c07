"""The tasks of the worker: making packs, and removing their files after a week."""

import datetime
import errno
import logging
import sys
import time
import uuid

from django.core.files.base import File
from django.db import InterfaceError, OperationalError
from django.db.models import F
from django.utils.translation import gettext_noop
from django_tasks import task

from records.accounts import access
from records.files.content import UploadedPart
from records.files.storage import StorageUnavailableError, storing
from records.history.seals import SealError
from records.history.trail import Author, Channel, now, recording
from records.packs import actions
from records.packs.bundle import Bundle
from records.packs.making import Making, file_name_of
from records.packs.models import MAKE, RETENTION, UNFINISHED, Pack, PackFile, Status

logger = logging.getLogger("larder.packs")
SYSTEM = Author(None, "System", Channel.SYSTEM)
MOST_ATTEMPTS = 3
PAUSE = 0.5
"""Seconds between two reports of the progress."""
LONGEST = datetime.timedelta(days=1)
"""The longest time until a pack is made. After that, no worker runs, or the worker has lost the pack."""
ZIP = "application/zip"


class TakenOverError(Exception):
    """Raised if another worker has begun the pack again, or if the pack is no longer wanted."""


@task()
def make_pack(pack_id: str) -> None:
    """Make one pack. After its worker was killed, the task begins again from the start, up to three times."""
    key = uuid.UUID(pack_id)
    unfinished_packs = Pack.objects.filter(pk=key, status__in=UNFINISHED)
    if not unfinished_packs.update(status=Status.MAKING, attempts=F("attempts") + 1, done=0, total=0):
        return
    pack = Pack.objects.select_related("site", "asked_by").get(pk=key)
    if pack.attempts > MOST_ATTEMPTS:
        _fail(pack, f"The worker was stopped {MOST_ATTEMPTS} times while it made this pack. Choose a shorter period.")
        return
    try:
        _make(pack)
    except (OperationalError, InterfaceError):
        # The database cannot be reached. The worker runs the task again later, and this is not counted as an attempt,
        # unless another worker has begun the pack meanwhile.
        Pack.objects.filter(pk=key, attempts=pack.attempts).update(attempts=F("attempts") - 1)
        raise
    except TakenOverError:
        logger.warning("A pack was taken over by another worker.")
    except StorageUnavailableError:
        _fail(pack, gettext_noop("The file storage cannot be reached. Make the pack again later."))
    except SealError:
        _fail(pack, gettext_noop("The seal could not be made. Ask the operator of Larder to check its key."))
    except OSError as error:
        logger.exception("A pack could not be written.")
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        _fail(
            pack,
            gettext_noop("The disk is full.")
            if full
            else gettext_noop("The file could not be written. Make the pack again later."),
        )
    except Exception:
        logger.exception("A pack could not be made.")
        _fail(
            pack,
            gettext_noop(
                "An error occurred. It is not your fault. The operator of Larder can find the reason in the log."
            ),
        )


def _make(pack: Pack) -> None:
    if not access.may(pack.asked_by, pack.site, MAKE):
        _fail(pack, gettext_noop("The person who requested this pack may not make packs of this site any more."))
        return
    making = Making(pack)
    if problem := making.why_too_large():
        _fail(pack, problem)
        return
    progress = Progress(pack, sum(making.counts.values()))
    with Bundle(making.clock) as bundle:
        making.write(bundle, progress.add)
        content = UploadedPart(File(bundle.close()), sys.maxsize)
        with storing(content) as stored_file, recording():
            claimed_packs = Pack.objects.filter(pk=pack.pk, attempts=pack.attempts, status=Status.MAKING)
            facts = {"made": making.at, "permissions": making.permissions, "left_out": len(bundle.missing)}
            if not claimed_packs.update(status=Status.MADE, done=progress.total, **facts):
                raise TakenOverError
            file = PackFile.objects.create(
                pack=pack,
                file_type=ZIP,
                file_name=file_name_of(pack),
                file_size=stored_file.size,
                file_hash=stored_file.sha256,
                path=stored_file.path,
            )
            author = Author(pack.asked_by.pk, pack.asked_by.printed_name, Channel.SYSTEM)
            actions.note_making(pack, file, author=author)


class Progress:
    """The progress of a pack, stored at most twice a second; raises TakenOverError if another worker has the pack."""

    def __init__(self, pack: Pack, total: int) -> None:
        self.claimed_packs = Pack.objects.filter(pk=pack.pk, attempts=pack.attempts, status=Status.MAKING)
        self.total, self.done, self.stored_at = total, 0, 0.0
        self._note()

    def add(self, count: int) -> None:
        """Add this number of written records."""
        self.done += count
        if time.monotonic() - self.stored_at >= PAUSE:
            self._note()

    def _note(self) -> None:
        self.stored_at = time.monotonic()
        if not self.claimed_packs.update(done=self.done, total=self.total):
            raise TakenOverError


def _fail(pack: Pack, problem: str) -> None:
    Pack.objects.filter(pk=pack.pk, attempts=pack.attempts, status=Status.MAKING).update(
        status=Status.FAILED, problem=problem
    )


@task()
def remove_old_packs() -> int:
    """Remove files that are 7 days old, and files that contain personal data erased since; returns their number.

    Runs once an hour.
    """
    stuck = Pack.objects.filter(status__in=UNFINISHED, created__lt=now() - LONGEST)
    stuck.update(
        status=Status.FAILED, problem=gettext_noop("The worker did not make this pack within a day. Make it again.")
    )
    count = 0
    for pack in Pack.objects.filter(status=Status.MADE).order_by("made", "id"):
        old = pack.made is not None and pack.made < now() - RETENTION
        if old or actions.was_erased_since(pack):
            reason = "Seven days are over." if old else "Personal data was erased after it was made."
            actions.remove_file(pack, author=SYSTEM, reason=reason)
            count += 1
    if count:
        logger.info("Removed the files of %s packs.", count)
    return count
