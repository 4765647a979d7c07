"""Makes a pack: writes its parts into the ZIP one after the other, and reports the progress after each step."""

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from django.db.models import Count, Q, QuerySet, Sum
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.text import capfirst

from documents.models import IN_FORCE, DocumentVersion
from records.accounts import access
from records.attachments.models import Attachment
from records.attachments.visibility import sees
from records.backoffice.current import zone_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.transfer.formulas import guard
from records.backoffice.transfer.sheets import Line, write_xlsx
from records.dashboard.printing.paper import render_pdf
from records.files.models import FileRecord
from records.files.storage import FileDamagedError, open_whole
from records.history import seals
from records.history.counting import UNCACHED, Counting
from records.history.trail import now
from records.packs import check_pack
from records.packs.bundle import Bundle, checksums, safe_name
from records.packs.changes import Stretch, Wording, stretch_of
from records.packs.kinds import ATTACHMENTS, BY_KEY, CHANGES, Kind, Span, permission_of
from records.packs.models import Pack
from records.packs.tables import ATTACHMENT, STEP, Table, names_of_records
from records.sites.about import kinds
from records.sites.hidden import visible_to
from records.sites.models import permission_on

CHANGES_PER_SHEET = 500_000
"""An XLSX sheet has at most 1,048,576 rows."""
MOST_RECORDS, MOST_BYTES = 200_000, 20 * 1024**3
"""How many records and attachments a pack holds at most, and how many bytes of files."""
STAMPED_KINDS = ("employees", "documents")
"""The kinds that are also stamped when something else changes, such as a job description or a version."""
PRIVATE = ("complaints.view_private_complaint", "employees.view_private_employee", "documents.view_pending_version")
Progress = Callable[[int], None]


class Making:
    """The making of one pack: its content, as far as the person who asked for it may see it now."""

    def __init__(self, pack: Pack, count: Counting = UNCACHED) -> None:
        self.pack, self.site, self.user, self._count = pack, pack.site, pack.asked_by, count
        self.zone = zone_of(self.site)
        self.span = Span(pack.first, pack.last, self.zone)
        self.at = now()
        self.may = cache(lambda permission: access.may(self.user, self.site, permission))
        self.keys = [key for key in pack.kinds if self.may(permission_of(key))]
        self.kinds = [BY_KEY[key] for key in self.keys if key in BY_KEY]
        self.stretch = stretch_of(self.site.pk, self.span) if CHANGES in self.keys else None

    @property
    def clock(self) -> tuple[int, int, int, int, int, int]:
        """Return the time at which the pack is made, in the site's time zone, in the form of a ZIP's file times."""
        local = self.at.astimezone(self.zone)
        return local.year, local.month, local.day, local.hour, local.minute, local.second

    @property
    def permissions(self) -> list[str]:
        """Return the permissions that somebody needs to see everything in the pack."""
        private = [permission for permission in PRIVATE if self.may(permission)]
        # The changes are about every kind of record that the person sees.
        history_permissions = map(permission_on, kinds().values()) if CHANGES in self.keys else ()
        needed_permissions = (*(permission_of(key) for key in self.keys), *filter(self.may, history_permissions))
        return [*dict.fromkeys(needed_permissions), *private]

    @cached_property
    def counts(self) -> dict[str, int]:
        """Return the numbers of records, files and changes, by the key of their part; one query for each part."""
        numbers = {
            kind.key: self._number_of(self.rows(kind), is_summable=kind.key not in STAMPED_KINDS) for kind in self.kinds
        }
        if ATTACHMENTS in self.keys:
            numbers[ATTACHMENTS] = self._number_of(self.attachments())
        if self.stretch is not None:
            numbers[CHANGES] = self.stretch.last - self.stretch.first + 1
        return numbers

    def _number_of(self, rows: QuerySet[Any], *, is_summable: bool = False) -> int:
        """Return the number of records; it `is_summable` if it depends on nothing but the records' own changes."""
        if is_summable:
            return sum(number for (number,) in self._count.sums(rows, count=Count("pk")))
        return sum(number for _, number in self._count(rows.order_by().values_list("site").annotate(Count("pk"))))

    def why_too_large(self) -> str:
        """Return why the pack is refused for its size; empty if it is not. Costs two queries beside the counts."""
        records = sum(count for key, count in self.counts.items() if key != CHANGES)
        advice = "Choose a shorter period or fewer kinds."
        if records > MOST_RECORDS:
            return f"This pack would contain {records:,} records; the limit is {MOST_RECORDS:,}. {advice}"
        files: list[QuerySet[Any]] = [self.attachments()] if ATTACHMENTS in self.keys else []
        files += [self._versions()] if "documents" in self.keys else []
        size = sum(rows.order_by().aggregate(size=Sum("file_size"))["size"] or 0 for rows in files)
        if size > MOST_BYTES:
            return (
                f"The files of this pack have {size / 1024**3:.1f} GiB; the limit is {MOST_BYTES // 1024**3}. {advice}"
            )
        return ""

    def rows(self, kind: Kind) -> QuerySet[Any]:
        """Return the records of a kind and of the period that exist for the person who asked."""
        return visible_to(self.user.pk, self.may, kind.rows(self.site, self.span))

    def write(self, bundle: Bundle, progress: Progress) -> None:
        """Write every part into the bundle; `progress` gets the number of records written since its last call.

        Raises OSError if the disk is full, and StorageUnavailableError if the files cannot be read.
        """
        with timezone.override(self.zone):
            self._fill(bundle, progress)

    def _fill(self, bundle: Bundle, progress: Progress) -> None:
        for kind in self.kinds:
            self._records(bundle, kind, progress)
        if "documents" in self.keys:
            self._documents(bundle)
        if ATTACHMENTS in self.keys:
            self._attachments(bundle, progress)
        if self.stretch is not None:
            self._history(bundle, self.stretch, progress)
        bundle.add("How to check it", "check_pack.py", "Checks this pack", Path(check_pack.__file__).read_bytes())
        page = render_to_string("packs/contents.html", self._facts(bundle)).encode()
        bundle.add("", "Contents.html", "This list", page)
        bundle.add("", "SHA256SUMS", "Checksums of all files", checksums(bundle.entries))

    # --- Records ------------------------------------------------------------------------------------------------------

    def _records(self, bundle: Bundle, kind: Kind, progress: Progress) -> None:
        table, rows = Table(kind, self.user.pk, self.may), self.rows(kind)
        folder = f"records/{safe_name(kind.title.lower())}"
        self._sheet(bundle, kind.title, folder, f"{kind.title} as a table", table.lines(rows))
        for child in table.children:
            title = table.title_of(child)
            path = f"{folder} - {safe_name(title.lower())}"
            self._sheet(bundle, kind.title, path, f"{title} as a table", table.child_lines(rows, child))
        foot = f"{self.site.name} · made {format_datetime(self.at)} ({self.zone.key}) for {self.user.printed_name}"
        subtitle = f"{self.site.name}, {self.pack.first} to {self.pack.last}: {kind.rule}"
        for span, paper in table.papers(rows, subtitle, foot):
            bundle.add(
                kind.title, f"{folder} {span}.pdf", f"{kind.title} {span} to read", render_pdf(paper), as_is=True
            )
            progress(len(paper.parts))

    def _sheet(self, bundle: Bundle, part: str, path: str, about: str, lines: Iterator[Line]) -> None:
        with write_xlsx(lines, part) as file:
            bundle.add(part, f"{path}.xlsx", about, file, as_is=True)

    # --- Files --------------------------------------------------------------------------------------------------------

    def _documents(self, bundle: Bundle) -> None:
        keys = list(self._versions().order_by("document__site_sequence_id").values_list("pk", flat=True))
        for start in range(0, len(keys), STEP):
            versions = DocumentVersion.objects.select_related("document").in_bulk(keys[start : start + STEP])
            for key in keys[start : start + STEP]:
                version = versions[key]
                number = f"{version.document.site_sequence_id} v{version.version}"
                path = f"documents/{number} {safe_name(version.file_name)}"
                self._file(bundle, "Files of documents in force", path, f"{version.document}, {version}", version)

    def _versions(self) -> QuerySet[DocumentVersion]:
        """Return the versions in force whose files belong to the pack."""
        documents = self.rows(BY_KEY["documents"]).order_by()
        return DocumentVersion.objects.filter(document__in=documents, record_status__in=IN_FORCE)

    def attachments(self) -> QuerySet[Attachment]:
        """Return the attachments of the pack's records, as far as the person who asked may see them."""
        on = Q(pk__in=())
        for kind in self.kinds:
            model: Any = kind.model
            if model in kinds().values() and model is not Attachment and sees(model.ENTITY, self.may):
                records = self.rows(kind).order_by().values("pk")
                on |= Q(entity=model.ENTITY, record_id__in=records)
        return Attachment.objects.at(self.site).filter(on).order_by("site_sequence_id")

    def _attachments(self, bundle: Bundle, progress: Progress) -> None:
        part, keys = "Attachments", list(self.attachments().values_list("pk", flat=True))
        lines: list[Line] = [["File", "Record", *ATTACHMENT.labels]]

        def steps() -> Iterator[list[Attachment]]:
            for start in range(0, len(keys), STEP):
                step_keys = keys[start : start + STEP]
                attachments = ATTACHMENT.expand(Attachment.objects.all()).in_bulk(step_keys)
                yield [attachments[key] for key in step_keys]

        def register() -> Iterator[Line]:
            yield from lines
            for step in steps():
                records = names_of_records(step, self.user.pk, self.may)
                for row in step:
                    yield [guard(path_of(row)), guard(records[row.pk]), *ATTACHMENT.cells(row)]

        self._sheet(bundle, part, "records/attachments", "Attachments as a table", register())
        for step in steps():
            records = names_of_records(step, self.user.pk, self.may)
            for row in step:
                self._file(bundle, part, path_of(row), records[row.pk], row)
                progress(1)

    def _file(self, bundle: Bundle, part: str, path: str, about: str, row: FileRecord) -> None:
        """Add a stored file; one that is missing or damaged is named in the contents instead."""
        try:
            with open_whole(row) as file:
                bundle.add(part, path, about, file, as_is=True)
        except FileDamagedError as fault:
            bundle.missing.append(f"{path}: {fault}")

    # --- History ------------------------------------------------------------------------------------------------------

    def _history(self, bundle: Bundle, stretch: Stretch, progress: Progress) -> None:
        part, wording = "Changes", Wording(self.user, self.may)
        per_sheet = CHANGES_PER_SHEET
        for start in range(stretch.first, stretch.last + 1, per_sheet):
            batch = Stretch(stretch.chain, start, min(start + per_sheet - 1, stretch.last), "")
            path = f"changes/changes {batch.first}-{batch.last}"
            self._sheet(bundle, part, path, "Every change in words", wording.lines(batch.steps()))
        pieces = wording.rows(stretch.steps())
        bundle.add(part, "changes/changes.jsonl", "Every change as its hash covers it", _Stream(pieces))
        progress(stretch.last - stretch.first + 1)
        seal = seals.seal_of(stretch.chain, stretch.last, stretch.hash)
        text = orjson.dumps(seal, option=orjson.OPT_INDENT_2) + b"\n"
        bundle.add("Seal", "seal/seal.json", f"The signed hash of change {stretch.last}", text)
        bundle.add("Seal", "seal/public-key.pem", "The key that the seal is checked with", seals.public_pem())

    def _facts(self, bundle: Bundle) -> dict[str, Any]:
        parts: dict[str, list[Any]] = {}
        for entry in bundle.entries:
            parts.setdefault(entry.part, []).append(entry)
        hidden_parts = [
            text for permission, text in zip(PRIVATE, _HIDDEN_PARTS, strict=True) if not self.may(permission)
        ]
        return {
            "pack": self.pack,
            "site": self.site,
            "at": format_datetime(self.at),
            "zone": self.zone.key,
            "person": self.user.printed_name,
            "chosen": [(kind.title, self.counts[kind.key], kind.rule) for kind in self.kinds],
            "parts": parts,
            "missing": bundle.missing,
            "hidden": hidden_parts,
            "stretch": self.stretch,
            "changes": self.counts.get(CHANGES),
            "attachments": self.counts.get(ATTACHMENTS),
            "fingerprint": seals.fingerprint() if self.stretch is not None else "",
        }


_HIDDEN_PARTS = (
    "who consumers are, on complaints",
    "private facts of employees",
    "documents of which no version is in force, and actions about them",
)


class _Stream:
    """A readable file over an iterator of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def read(self, _size: int = -1) -> bytes:
        """Return the next bytes; empty at the end."""
        return b"".join(islice(self._pieces, 1))


def path_of(row: Attachment) -> str:
    """Return the path of an attachment's file in a pack: the folder of its kind of record, then its number and name."""
    kind = capfirst(str(row.get_entity_display()))
    return f"attachments/{safe_name(kind)}/{row.site_sequence_id} {safe_name(row.file_name)}"


def file_name_of(pack: Pack) -> str:
    """Return the file name of a pack's ZIP."""
    return f"{safe_name(f'Auditor pack {pack.site.name}')} {pack.first} to {pack.last}.zip"
