"""What the documents' tests share: the files in a test's storage, and documents whose newest version waits."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from documents.models import Document, DocumentVersion
from records.accounts.models import DefaultRole, User
from records.sites.models import Site
from tests import make
from tests.make import documents as docs


def files_in(folder: Path) -> list[Path]:
    """Return every file in the folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


@dataclass
class Stock:
    """A document whose second version waits, one that never came into force, and who has to do with them."""

    newer: Document
    pending: Document
    uploader: User
    reviewer: User

    @property
    def waiting(self) -> DocumentVersion:
        """Return the version that waits behind the one in force."""
        return docs.version_of(self.newer, 2)


@pytest.fixture
def stock(site: Site) -> Stock:
    """Return a site's documents: superseded, in force, waiting, and never in force."""
    uploader, reviewer = (docs.make_signer(site, role) for role in (DefaultRole.MANAGER, DefaultRole.STANDARD))
    author = make.author_of(uploader)
    newer = docs.make_document(site, b"old", name="Cleaning", file_name="old.txt", file_type="text/plain")
    docs.add_version(
        newer,
        b"new draft",
        author=author,
        file_name="draft.pdf",
        file_type="application/pdf",
        user_to_review=[reviewer],
    )
    pending = docs.make_document(
        site, b"secret", author=author, name="Recall", file_name="recall.txt", user_to_review=[reviewer]
    )
    return Stock(newer, pending, uploader, reviewer)
