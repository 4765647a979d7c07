"""The worker and auditor's packs: killed workers, full disks, outages, and the end of a pack's week."""

import datetime
import errno
import gc
import tracemalloc
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.db import OperationalError
from django_tasks_db.models import DBTaskResult

from records.accounts.models import DefaultRole, Role
from records.complaints.erasure import erase_consumer
from records.complaints.models import Complaint
from records.files.orphans import orphans
from records.files.storage import StorageUnavailableError
from records.history.models import Change
from records.history.trail import now
from records.packs import making, tables, tasks
from records.packs.making import Making
from records.packs.models import Pack, PackFile, Status
from records.sites.models import Site
from tests import make
from tests.make import packs
from tests.make.attachments import make_attachment
from tests.make.complaints import make_complaint
from tests.make.figures import make_complaints

pytestmark = pytest.mark.django_db
HOUR = datetime.timedelta(hours=1)


def fails_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise error

    monkeypatch.setattr(Making, "write", fail)


def test_asking_queues_the_making_in_the_same_transaction(site: Site, django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        pack = packs.new_pack(site)
    task = DBTaskResult.objects.get(task_path="records.packs.tasks.make_pack")
    assert task.args_kwargs["args"] == [str(pack.pk)]


def test_who_made_which_pack_is_in_the_history(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    pack = packs.finished_pack(site, user)
    changes = Change.objects.filter(record_id=pack.pk).order_by("number")
    assert list(changes.values_list("operation", "author_id")) == [("AskForPack", user.pk), ("MakePack", user.pk)]
    assert {"field": "file_hash", "old": None, "new": pack.file.file_hash} in changes[1].fields
    assert set(changes.values_list("lowest_role", flat=True)) == {""}


def test_a_pack_whose_worker_was_killed_is_made_anew(site: Site) -> None:
    pack = packs.new_pack(site)
    Pack.objects.update(status=Status.MAKING, attempts=1, done=17, total=20)
    tasks.make_pack.call(str(pack.pk))
    pack.refresh_from_db()
    assert (pack.status, pack.attempts) == (Status.MADE, 2)
    assert pack.file.file_size > 1000


def test_a_pack_that_killed_its_worker_three_times_has_failed_and_says_so(site: Site) -> None:
    pack = packs.new_pack(site)
    Pack.objects.update(status=Status.MAKING, attempts=3)
    tasks.make_pack.call(str(pack.pk))
    pack.refresh_from_db()
    assert pack.status == Status.FAILED
    assert "stopped 3 times" in pack.problem


def test_a_worker_that_was_taken_for_dead_writes_nothing_over_the_one_after_it(
    site: Site, monkeypatch: pytest.MonkeyPatch, files: Any
) -> None:
    pack = packs.new_pack(site)
    write = Making.write

    def write_late(self: Making, *args: Any) -> None:
        write(self, *args)
        Pack.objects.update(attempts=2)

    monkeypatch.setattr(Making, "write", write_late)
    tasks.make_pack.call(str(pack.pk))
    pack.refresh_from_db()
    assert (pack.status, pack.attempts) == (Status.MAKING, 2)
    assert not PackFile.objects.exists()
    assert list(orphans(now() + HOUR)) == []


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "no space"), "The disk is full."),
        (OSError(errno.EIO, "broken"), "could not be written"),
        (StorageUnavailableError(), "file storage cannot be reached"),
        (ArithmeticError("A fault of ours, made by a test."), "An error occurred"),
    ],
)
def test_a_failure_is_said_in_plain_words(
    site: Site, monkeypatch: pytest.MonkeyPatch, error: BaseException, message: str
) -> None:
    fails_with(monkeypatch, error)
    pack = packs.finished_pack(site)
    assert pack.status == Status.FAILED
    assert message in pack.problem
    tasks.make_pack.call(str(pack.pk))
    pack.refresh_from_db()
    assert pack.status == Status.FAILED


def test_an_outage_of_the_database_is_not_the_pack_s_fault(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    fails_with(monkeypatch, OperationalError("gone"))
    pack = packs.new_pack(site)
    with pytest.raises(OperationalError):
        tasks.make_pack.call(str(pack.pk))
    pack.refresh_from_db()
    assert (pack.status, pack.attempts) == (Status.MAKING, 0)


def test_an_outage_does_not_change_the_attempts_of_another_worker(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = packs.new_pack(site)

    def fail(*args: Any, **kwargs: Any) -> None:
        Pack.objects.filter(pk=pack.pk).update(attempts=2)
        raise OperationalError("gone")

    monkeypatch.setattr(Making, "write", fail)
    with pytest.raises(OperationalError):
        tasks.make_pack.call(str(pack.pk))
    pack.refresh_from_db()
    assert (pack.status, pack.attempts) == (Status.MAKING, 2)


def test_whoever_lost_the_permission_meanwhile_gets_no_pack(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    pack = packs.new_pack(site, user)
    Role.objects.get(site=site, default_role=DefaultRole.MANAGER).memberships.all().delete()
    tasks.make_pack.call(str(pack.pk))
    pack.refresh_from_db()
    assert pack.status == Status.FAILED
    assert "may not make packs" in pack.problem


def test_the_progress_counts_records_files_and_changes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "PAUSE", -1)
    for _ in range(3):
        make_complaint(site)
    percents: list[int] = []
    note = tasks.Progress._note

    def note_percent(self: tasks.Progress) -> None:
        note(self)
        percents.append(Pack.objects.get().percent)

    monkeypatch.setattr(tasks.Progress, "_note", note_percent)
    pack = packs.finished_pack(site)
    assert percents[0] == 0
    assert percents == sorted(percents)
    assert percents[-1] == 99
    assert pack.done == pack.total > 3


def test_a_file_is_removed_after_seven_days_and_the_history_tells_it(site: Site) -> None:
    pack = packs.finished_pack(site)
    assert tasks.remove_old_packs.call() == 0
    Pack.objects.update(made=now() - datetime.timedelta(days=7, minutes=1))
    assert tasks.remove_old_packs.call() == 1
    pack = Pack.objects.get()
    assert pack.status == Status.REMOVED
    assert not PackFile.objects.exists()
    change = Change.objects.get(operation="RemovePack")
    assert (change.author_name, change.reason) == ("System", "Seven days are over.")
    assert tasks.remove_old_packs.call() == 0


@pytest.mark.django_db(transaction=True)
def test_the_stored_file_goes_with_its_row(site: Site) -> None:
    path = packs.finished_pack(site).file.path
    Pack.objects.update(made=now() - datetime.timedelta(days=8))
    assert default_storage.exists(path)
    tasks.remove_old_packs.call()
    assert not default_storage.exists(path)


def test_a_pack_that_may_name_an_erased_consumer_is_removed(site: Site) -> None:
    complaint = make_complaint(site, consumer_last_name="Berg")
    packs.finished_pack(site)
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked for it.")
    assert tasks.remove_old_packs.call() == 1
    assert "erased" in Change.objects.get(operation="RemovePack").reason


def test_a_pack_that_nobody_made_within_a_day_has_failed(site: Site) -> None:
    packs.new_pack(site)
    Pack.objects.update(created=now() - datetime.timedelta(days=2))
    tasks.remove_old_packs.call()
    assert Pack.objects.get().status == Status.FAILED


def test_three_packs_of_a_site_at_a_time_are_enough(site: Site, other_site: Site) -> None:
    for _ in range(3):
        packs.new_pack(site)
    with pytest.raises(ValidationError, match="Wait until one of them is ready"):
        packs.new_pack(site)
    assert packs.new_pack(other_site).status == Status.WAITING


def test_a_pack_of_too_many_records_or_bytes_is_refused_and_says_what_to_do(
    site: Site, monkeypatch: pytest.MonkeyPatch, files: Any
) -> None:
    complaint = make_complaint(site)
    make_attachment(site, on=complaint, content=b"x" * 2048)
    monkeypatch.setattr(making, "MOST_RECORDS", 1)
    pack = packs.finished_pack(site, kinds=["complaints", "attachments"])
    assert pack.status == Status.FAILED
    assert pack.problem == (
        "This pack would contain 2 records; the limit is 1. Choose a shorter period or fewer kinds."
    )
    assert packs.finished_pack(site, kinds=["complaints"]).status == Status.MADE
    monkeypatch.setattr(making, "MOST_RECORDS", 2)
    assert packs.finished_pack(site, kinds=["complaints", "attachments"]).status == Status.MADE
    monkeypatch.setattr(making, "MOST_BYTES", 2047)
    pack = packs.finished_pack(site, kinds=["complaints", "attachments"])
    assert "The files of this pack have" in pack.problem
    assert not PackFile.objects.filter(pack=pack).exists()


def test_the_files_of_a_pack_are_never_in_memory_as_a_whole(site: Site, files: Any) -> None:
    complaint, size = make_complaint(site), 12 * 1024**2
    for letter in (b"a", b"b", b"c"):
        make_attachment(site, on=complaint, content=letter * size)
    pack = packs.new_pack(site, kinds=["complaints", "attachments"])
    tracemalloc.start()
    try:
        tasks.make_pack.call(str(pack.pk))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    pack.refresh_from_db()
    assert pack.file.file_size > 3 * size
    assert peak < size


def test_the_memory_that_a_pack_takes_does_not_grow_with_its_records(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "STEP", 5)
    # What a finished part refers to in a circle is left to the garbage collector, which comes in its own time. Here it
    # comes for each record, and need not look at what was there before.
    gc.collect()
    gc.freeze()
    add = tasks.Progress.add
    monkeypatch.setattr(tasks.Progress, "add", lambda progress, count: (gc.collect(), add(progress, count)))
    # A few long words, because each word takes its time on the paper.
    day, text = now() - datetime.timedelta(days=30), "The-crumb-was-grey-again. " * 320

    def peak_with(count: int) -> int:
        Complaint.objects.all().delete()
        make_complaints(site, [day] * count, complaint_description=text)
        pack = packs.new_pack(site, kinds=["complaints"])
        tracemalloc.start()
        try:
            tasks.make_pack.call(str(pack.pk))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        pack.refresh_from_db()
        assert (pack.status, pack.done) == (Status.MADE, count)
        return peak

    peak_with(1)  # Fonts and styles are loaded once.
    few, many = peak_with(5), peak_with(30)
    assert many < few * 1.15
