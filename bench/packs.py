"""The memory that making a large pack takes: `python -m tests.postgres python -m bench.packs`, by hand.

Stores 20,000 complaints with a Change each, and attachments of 1 MiB (400, or `BENCH_FILES`). Makes a pack of them in
this process, and prints how long it took and how far the memory of the process rose. `BENCH_ROWS=1000` for a short run.
"""

import os
import resource
import tempfile
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="larder-bench-"))
os.environ.update(ALLOWED_HOSTS="testserver", LOG_LEVEL="warning", STATIC_COLLECTED="off")
django.setup()

from django.core.management import call_command  # noqa: E402

from records.accounts.models import DefaultRole  # noqa: E402
from records.complaints.models import Complaint  # noqa: E402
from records.history.models import ChainHead  # noqa: E402
from records.history.snapshots import columns, differences  # noqa: E402
from records.history.trail import recording  # noqa: E402
from records.sites.models import Site  # noqa: E402
from tests import make  # noqa: E402
from tests.make import packs  # noqa: E402
from tests.make.attachments import make_attachment  # noqa: E402
from tests.make.figures import make_complaints, noon  # noqa: E402

ROWS = int(os.environ.get("BENCH_ROWS", "20000"))
FILES = int(os.environ.get("BENCH_FILES", "400"))
MIB = 1024**2
AT_ONCE = 1000


def peak() -> float:
    """Return the most memory that this process has had so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def store(site: Site) -> list[Complaint]:
    """Store complaints, each with the Change of its making."""
    day, complaints = noon("2026-03-05"), []
    for start in range(0, ROWS, AT_ONCE):
        with recording() as trail:
            text = "A piece of blue plastic in the crumb; the rest of the batch was kept."
            rows = make_complaints(site, [day] * min(AT_ONCE, ROWS - start), complaint_description=text)
            for row in rows:
                trail.add(row, differences(row, {}, columns(row)), author=make.SYSTEM, operation="AddComplaintDetail")
        complaints += rows
    return complaints


def main() -> None:
    """Fill, make the pack and print."""
    call_command("migrate", verbosity=0)
    site = make.make_site("Bench Mill")
    complaints = store(site)
    for number in range(FILES):
        content = number.to_bytes(4, "big") * (MIB // 4)
        make_attachment(site, on=complaints[number % len(complaints)], content=content, file_name=f"{number}.bin")
    changes = ChainHead.objects.get(chain=site.pk).number
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    days = {"first": noon("2026-01-01").date(), "last": noon("2030-12-31").date()}
    pack = packs.new_pack(site, user, ("complaints", "attachments", "changes"), **days)
    before, start = peak(), time.perf_counter()
    packs.make_pack.call(str(pack.pk))
    took = time.perf_counter() - start
    pack.refresh_from_db()
    print(f"{ROWS:,} complaints, {FILES} attachments of 1 MiB, {changes:,} changes: {pack.status} {pack.problem}")
    print(f"{took:.0f} s, {pack.file.file_size / MIB:.0f} MiB, memory rose from {before:.0f} to {peak():.0f} MiB")


if __name__ == "__main__":
    main()
