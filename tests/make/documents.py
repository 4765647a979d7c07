"""Plain functions that make documents for tests, through the actions that the product uses."""

import base64
import hashlib
import itertools
import uuid
from typing import Any

from documents import actions, approvals
from documents.models import Document, DocumentVersion
from records.accounts.models import DefaultRole, User
from records.files.content import EncodedFile, JsonText
from records.sites.models import Site
from tests import make

_counter = itertools.count(1)


def base64_of(content: bytes) -> str:
    """Return a file as the wire carries it."""
    return base64.b64encode(content).decode()


def sha256(content: bytes) -> str:
    """Return the hash that is kept of a file."""
    return hashlib.sha256(content).hexdigest()


def incoming(content: bytes = b"") -> EncodedFile:
    """Return a file on its way in."""
    return EncodedFile(JsonText.of(base64_of(content or f"File {next(_counter)}".encode())), 10**9)


def document_body(content: bytes = b"Wash your hands.", **fields: Any) -> dict[str, Any]:
    """Return a body for AddDocument or UpdateDocument with the required fields."""
    body = {"Name": "Hygiene", "FileType": "text/plain", "FileName": "hygiene.txt", "FileContent": base64_of(content)}
    return {**body, **fields}


def document_values(**fields: Any) -> dict[str, Any]:
    """Return the values of a document under model names."""
    return {"name": f"Procedure {next(_counter)}", "file_type": "text/plain", "file_name": "procedure.txt", **fields}


def make_document(site: Site, content: bytes = b"", *, author: Any = make.SYSTEM, **fields: Any) -> Document:
    """Make a document at the site, with its first version."""
    return actions.add_document(site.pk, document_values(**fields), incoming(content), author=author)


def add_version(document: Document, content: bytes = b"", *, author: Any = make.SYSTEM, **fields: Any) -> Document:
    """Store a newer file of the document."""
    values = document_values(**{"name": document.name, **fields})
    return actions.update_document(document.site_id, document.pk, values, incoming(content), author=author)


def version_of(document: Document, number: int | None = None) -> DocumentVersion:
    """Return a version of the document as it is stored now: the newest, or the one of that number."""
    versions = DocumentVersion.objects.filter(document_id=document.pk)
    return versions.get(version=number) if number else versions.latest("version")


def statuses(document: Any) -> list[str]:
    """Return the statuses of the document's versions, the first version first."""
    key = document if isinstance(document, uuid.UUID) else document.pk
    rows = DocumentVersion.objects.filter(document_id=key).order_by("version")
    return list(rows.values_list("record_status", flat=True))


def make_signer(site: Site, role: DefaultRole = DefaultRole.STANDARD, **fields: Any) -> User:
    """Make a person who can sign at the site, with an address."""
    number = next(_counter)
    return make.make_user(f"signer{number}", site=site, role=role, email=f"signer{number}@example.org", **fields)


def sign(version: DocumentVersion, user: User, how: str = "sign_review", **more: Any) -> DocumentVersion:
    """Sign a version as the user, with the right password."""
    action = getattr(approvals, how)
    author = make.author_of(user)
    result: DocumentVersion = action(version.pk, user, more.pop("password", make.PASSWORD), author=author, **more)
    return result
