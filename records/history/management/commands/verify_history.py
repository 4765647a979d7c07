"""`manage.py verify_history`: verify every chain of changes and every record, and print all faults."""

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from records.history import proofs, seals


class Command(BaseCommand):
    """Prints a line for each broken, missing, moved or added change and exits with 1; without faults, the heads.

    Records of two kinds that have one Id have a line too, and are not a fault.
    """

    help = "Verify every chain of changes against its head and against the present records."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments: a seal, and the public key for its signature."""
        parser.add_argument("--seal", type=Path, metavar="FILE", help="prove that nothing sealed was cut or rewritten")
        parser.add_argument("--key", type=Path, metavar="FILE", help="the public key (PEM), if it is another one")

    def handle(self, *args: object, seal: Path | None, key: Path | None, **options: object) -> None:
        """Verify and report."""
        try:
            seal_content = seals.read_seal(seal, public_key=key) if seal is not None else None
        except seals.SealError as error:
            raise CommandError(str(error)) from error
        report = proofs.prove(seal_content)
        for line in proofs.fault_lines([*report.notices, *report.faults]):
            self.stdout.write(line)
        if report.faults:
            raise CommandError(f"{len(report.faults)} fault(s) in {report.changes} change(s).")
        for head in report.heads:
            self.stdout.write(f"{seals.site_name(head.chain)}: change {head.number}, {head.hash}")
        if seal_content is not None:
            self.stdout.write(f"Nothing was cut or rewritten since the seal of {seal_content['sealed']}.")
        self.stdout.write(f"{report.changes} change(s) and {report.records} record(s) verified.")
