"""`manage.py restore FILE`: restore a backup into an empty installation, on either database, and verify it."""

import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error, connection, transaction

from records.files import storage
from records.recovery import archive, rows

MUST_BE_EMPTY = ("accounts.User", "sites.Site", "history.Change")
"""A backup is restored only into a database that has no row of these models."""


class Command(BaseCommand):
    """Restores a whole archive or nothing, then runs verify_history and verify_files."""

    help = "Restore a backup into an empty database and an empty storage, and verify it."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments: the archive, and the consent to restore it without its secrets."""
        parser.add_argument("file", type=Path, help="the archive that `manage.py backup` wrote")
        parser.add_argument(
            "--without-secrets",
            action="store_true",
            help="restore although the backup's secrets are not set here: its keys, tokens and seal will not work",
        )

    def handle(self, *args: object, file: Path, without_secrets: bool, **options: object) -> None:
        """Check the whole archive, then restore and verify it."""
        with tempfile.TemporaryDirectory() as folder:
            seal = Path(folder) / "seal.json"
            manifest = self._check_and_restore(file, seal, without_secrets=without_secrets)
            self.stdout.write(f"Restored the backup of {manifest['made']}.")
            seal_option = {} if without_secrets else {"seal": seal}
            call_command("verify_history", stdout=self.stdout, **seal_option)
        call_command("verify_files", stdout=self.stdout)

    def _check_and_restore(self, file: Path, seal: Path, *, without_secrets: bool) -> dict[str, object]:
        """Restore the archive, write its seal to a file, and return its manifest.

        An installation that is not empty is refused before it is migrated, because it may hold data of another version.
        """
        try:
            manifest = archive.check(file)
            self._refuse_unfit(manifest, without_secrets=without_secrets)
            self._refuse_full_place()
            call_command("migrate", verbosity=0)
            self._restore(file, manifest, seal)
        except archive.ArchiveError as error:
            raise CommandError(str(error)) from error
        except (OSError, Error) as error:
            raise CommandError(f"Nothing was restored: {str(error) or type(error).__name__}") from error
        return manifest

    def _refuse_unfit(self, manifest: dict[str, object], *, without_secrets: bool) -> None:
        if manifest["migrations"] != archive.migrations():
            text = "The backup was made by another version. Restore it with that version, then upgrade."
            raise archive.ArchiveError(text)
        missing_secrets = [] if without_secrets else archive.missing_secrets(manifest)
        if missing_secrets:
            raise archive.ArchiveError("\n".join([*missing_secrets, "Set them, or continue with --without-secrets."]))

    def _refuse_full_place(self) -> None:
        tables = connection.introspection.table_names()
        for label in MUST_BE_EMPTY:
            model = apps.get_model(label)
            # Only the key is read: the table may lack columns that this version has.
            if model._meta.db_table in tables and model._base_manager.order_by().values("pk")[:1]:
                raise archive.ArchiveError("The database is not empty. Restore into an empty installation only.")
        if next(storage.walk(), None) is not None:
            raise archive.ArchiveError("The storage is not empty. Restore into an empty installation only.")

    def _restore(self, file: Path, manifest: dict[str, Any], seal: Path) -> None:
        """Store rows and files; if one cannot be stored, the transaction is rolled back and the files are removed."""
        saved = rows.saved_models()
        by_label = {model._meta.label: model for model in saved}
        paths: list[str] = []
        try:
            with transaction.atomic(), archive.reading(file) as members:
                rows.empty_all(saved)
                counts = dict.fromkeys(by_label, 0)
                for name, stream, _ in members:
                    kind, _, file_name = name.partition("/")
                    if kind == "tables":
                        label = file_name.partition("/")[0]
                        counts[label] += rows.load(by_label[label], stream.read())
                    elif kind == "files":
                        paths.append(file_name)
                        if default_storage.save(file_name, File(BytesIO(stream.read()), name=file_name)) != file_name:
                            raise archive.ArchiveError(f"The storage would not keep {file_name} under its own name.")
                    elif name == "seal.json":
                        seal.write_bytes(stream.read())
                if counts != manifest["counts"]["rows"]:
                    raise archive.ArchiveError("Not every row of the backup could be stored.")
                rows.reset_sequences(saved)
        except BaseException:
            for path in paths:
                default_storage.delete(path)
            raise
