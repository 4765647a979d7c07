"""`manage.py verify_files`: read every stored file against its SHA-256, and report what is missing or altered."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from documents import storage
from documents.models import DocumentVersion


class Command(BaseCommand):
    """Reports damaged files, one a line; exits with 1 when there are any."""

    help = "Check every document version's file against its SHA-256."

    def handle(self, *args: Any, **options: Any) -> None:
        """Check every version; a storage that does not answer ends the run, since nothing is known then."""
        count = damaged = 0
        versions = DocumentVersion.objects.select_related("document__site").order_by("document_id", "version")
        for version in versions.iterator(chunk_size=200):
            count += 1
            try:
                storage.check(version)
            except storage.FileDamagedError as error:
                damaged += 1
                document = version.document
                self.stdout.write(
                    f"{document.site}: document {document.site_sequence_id} ({document.pk}), "
                    f"version {version.version} ({version.pk}) at {version.path}: {error}"
                )
            except storage.StorageUnavailableError as error:
                raise CommandError("The storage cannot be read; nothing is known about the remaining files.") from error
        if damaged:
            raise CommandError(f"{damaged} of {count} file(s) missing or altered.")
        self.stdout.write(f"{count} file(s) whole.")
