"""`manage.py verify_files`: compare every stored file with its SHA-256, and report what is missing or altered."""

from django.core.management.base import BaseCommand, CommandError

from records.files import storage
from records.files.models import kept_file_models


class Command(BaseCommand):
    """Reports damaged files, one on each line; exits with 1 if there are any."""

    help = "Check every stored file against its SHA-256."

    def handle(self, *args: object, **options: object) -> None:
        """Check every file; the run ends if the storage does not answer, because nothing is known then."""
        count = faults = 0
        for model in kept_file_models():
            for row in model._default_manager.order_by("pk").iterator(chunk_size=200):
                count += 1
                try:
                    storage.check(row)
                except storage.FileDamagedError as error:
                    faults += 1
                    self.stdout.write(f"{row.location()} at {row.path}: {error}")
                except storage.StorageUnavailableError as error:
                    text = "The storage cannot be read; nothing is known about the remaining files."
                    raise CommandError(text) from error
        if faults:
            raise CommandError(f"{faults} of {count} file(s) missing or altered.")
        self.stdout.write(f"{count} file(s) whole.")
