"""`manage.py backup FILE`: save the database, the files and a seal in one archive, while the service runs."""

import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error

from records.files import storage
from records.files.models import kept_file_models
from records.history import seals
from records.history.trail import now
from records.history.verification import one_moment
from records.operations import heartbeats
from records.recovery import archive, rows


class Command(BaseCommand):
    """Writes the archive. If files are missing or altered, it names them, saves all others, and exits with 1."""

    help = "Save the database, the files and a seal in one archive."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the argument: the path of the archive."""
        parser.add_argument("file", type=Path, help="where the archive is written; the file must not exist yet")

    def handle(self, *args: object, file: Path, **options: object) -> None:
        """Save the database as it is at one moment, then the files that it refers to, which are never altered."""
        if file.exists():
            raise CommandError(f"{file} already exists.")
        faults: list[str] = []
        counts: dict[str, int] = {}
        try:
            with archive.Writer(file) as writer, tempfile.TemporaryFile() as paths:
                with one_moment():
                    seal = seals.seal()
                    writer.add("manifest.json", orjson.dumps(self._manifest()))
                    for model in rows.saved_models():
                        counts[model._meta.label] = 0
                        for number, (piece, count) in enumerate(rows.dump(model)):
                            writer.add(f"tables/{model._meta.label}/{number}.jsonl", piece)
                            counts[model._meta.label] += count
                    for kind in kept_file_models():
                        for path in kind._default_manager.order_by("pk").values_list("pk", flat=True).iterator():
                            paths.write(f"{kind._meta.label} {path}\n".encode())
                paths.seek(0)
                files = self._add_files(writer, paths, faults)
                writer.add("seal.json", orjson.dumps(seal))
                writer.end({"rows": counts, "files": files, "damaged": faults})
        except (OSError, Error, seals.SealError, storage.StorageUnavailableError) as error:
            raise CommandError(f"The backup could not be made: {str(error) or type(error).__name__}") from error
        with suppress(Error):
            # The metrics show how old the newest backup is. The backup is complete even if this cannot be stored.
            heartbeats.beat(heartbeats.BACKUP)
        for text in faults:
            self.stdout.write(text)
        self.stdout.write(f"{sum(counts.values())} row(s) and {files} file(s) saved in {file}.")
        if faults:
            raise CommandError(f"{len(faults)} file(s) are missing or altered and not in the backup.")

    def _manifest(self) -> dict[str, object]:
        return {
            "format": archive.FORMAT,
            "made": now().isoformat(),
            "python": sys.version.split()[0],
            "migrations": archive.migrations(),
            "secrets": archive.secrets(),
        }

    def _add_files(self, writer: archive.Writer, paths: IO[bytes], faults: list[str]) -> int:
        kinds = {kind._meta.label: kind for kind in kept_file_models()}
        count = 0
        for line in paths:
            label, key = line.decode().split()
            row = kinds[label]._default_manager.get(pk=key)
            try:
                with storage.open_whole(row) as file:
                    writer.add(f"files/{row.path}", file, row.file_size)
            except storage.FileDamagedError as error:
                faults.append(f"{row.location()} at {row.path}: {error}")
                continue
            count += 1
        return count
