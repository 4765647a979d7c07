"""`manage.py sweep_files`: remove stored files that no record points at, left by interrupted uploads."""

import datetime
from typing import Any

from django.core.files.storage import default_storage
from django.core.management.base import BaseCommand, CommandError, CommandParser

from records.files.orphans import orphans
from records.history.trail import now

USUAL_AGE, LEAST_AGE = 24, 1


class Command(BaseCommand):
    """Removes files that are so old that no running upload can still need them."""

    help = "Remove stored files that no record points at."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the age and the dry run."""
        parser.add_argument(
            "--older-than",
            type=float,
            default=USUAL_AGE,
            metavar="HOURS",
            help=f"keep younger files, which may belong to running uploads (at least {LEAST_AGE}, usually %(default)s)",
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would be removed, and remove nothing")

    def handle(self, *args: object, older_than: float, dry_run: bool, **options: Any) -> None:
        """Remove the orphans and print how many there were."""
        if not older_than >= LEAST_AGE:
            raise CommandError(f"--older-than must be at least {LEAST_AGE} hour.")
        oldest = now() - datetime.timedelta(hours=older_than)
        count = 0
        for path in orphans(oldest):
            count += 1
            if options["verbosity"] > 1 or dry_run:
                self.stdout.write(path)
            if not dry_run:
                default_storage.delete(path)
        self.stdout.write(f"{count} orphaned file(s) {'found' if dry_run else 'removed'}.")
