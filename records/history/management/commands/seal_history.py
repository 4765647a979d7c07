"""`manage.py seal_history FILE`: sign the heads of all chains with a key that the database does not hold."""

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from records.history import seals


class Command(BaseCommand):
    """Writes a seal. Keep it where the operators of the database cannot write; `verify_history --seal` reads it."""

    help = "Write the heads of all chains of changes, signed with Ed25519."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments: the file of the seal, and a file for the public key."""
        parser.add_argument("file", type=Path, help="where the seal is written")
        parser.add_argument("--public-key", type=Path, metavar="FILE", help="also write the public key (PEM) here")

    def handle(self, *args: object, file: Path, public_key: Path | None, **options: object) -> None:
        """Write the seal."""
        try:
            seal = seals.write_seal(file)
            if public_key is not None:
                public_key.write_bytes(seals.public_pem())
        except (seals.SealError, OSError) as error:
            raise CommandError(f"The seal could not be written: {error}") from error
        self.stdout.write(f"{len(seal['heads'])} chain(s) sealed in {file}.")
